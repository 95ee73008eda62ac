import AppStore
import Commands
import JSON
import Settings

/// Conditions on the numbers of a plan, such as `lost > 0 and key = "pro"`.
///
/// The names are those of the plan's JSON; `key` and `product` are short for `entitlement_key` and `product_id`. The
/// limit is met if one element, of the first list with all names, meets all conditions.
struct PlanLimit {
    /// Index of the list in `PlanReport.limited`.
    let list: Int
    let text: String
    private let conditions: [Condition]

    private struct Condition {
        let name: String
        let comparison: Comparison
        let value: Value
    }

    private enum Value {
        case number(Int64)
        case text(Identifier)
    }

    private enum Comparison: String, CaseIterable {
        case atLeast = ">="
        case atMost = "<="
        case unequal = "!="
        case equal = "="
        case above = ">"
        case below = "<"

        func holds<T: Comparable>(_ left: T, _ right: T) -> Bool {
            switch self {
            case .atLeast: left >= right
            case .atMost: left <= right
            case .unequal: left != right
            case .equal: left == right
            case .above: left > right
            case .below: left < right
            }
        }
    }

    private static let textNames = ["environment", "entitlement_key", "product_id", "rule", "currency"]
    private static let short = ["key": "entitlement_key", "product": "product_id"]
    private static let names = Set(PlanReport.limited.flatMap(\.names)).subtracting(["at"])
    private static let bytesMax = 2_000

    /// - Throws: a `UsageError` that names the column of the first mistake.
    init(_ text: String) throws(UsageError) {
        self.text = text
        guard text.utf8.count <= Self.bytesMax else {
            throw UsageError("--fail-if: expected at most \(Self.bytesMax) bytes")
        }
        var parser = Parser(text)
        var conditions: [Condition] = []
        repeat { conditions.append(try parser.condition()) } while try parser.hasAnother()
        self.conditions = conditions
        let asked = Set(conditions.map(\.name))
        guard let list = PlanReport.limited.firstIndex(where: { asked.isSubset(of: $0.names) }) else {
            throw UsageError("--fail-if: no list of the plan has \(asked.sorted().joined(separator: " and "))")
        }
        self.list = list
    }

    func isMet(by element: JSONContent) -> Bool {
        guard case .object(let members) = element else { return false }
        return conditions.allSatisfy { condition in
            switch (members.first { $0.name == condition.name }?.value, condition.value) {
            case (.int(let found), .number(let value)): condition.comparison.holds(found, value)
            case (.string(let found), .text(let value)): condition.comparison.holds(Identifier(found), value)
            default: false
            }
        }
    }

    private struct Parser {
        private let text: String
        private var rest: Substring

        init(_ text: String) {
            self.text = text
            rest = text[...]
        }

        mutating func condition() throws(UsageError) -> Condition {
            skipSpaces()
            let start = rest
            let word = String(takeWhile { $0.isLetter || $0 == "_" })
            let name = PlanLimit.short[word] ?? word
            guard PlanLimit.names.contains(name) else {
                let known = PlanLimit.names.union(PlanLimit.short.keys)
                throw fault("a name\(Spelling.hint(for: word, among: known))", at: start)
            }
            skipSpaces()
            let isText = PlanLimit.textNames.contains(name)
            guard let comparison = Comparison.allCases.first(where: { rest.hasPrefix($0.rawValue) }),
                !isText || comparison == .equal || comparison == .unequal
            else { throw fault(isText ? "= or !=" : "=, !=, <, <=, > or >=", at: rest) }
            rest = rest.dropFirst(comparison.rawValue.count)
            skipSpaces()
            return Condition(name: name, comparison: comparison, value: isText ? try quoted() : try number())
        }

        /// Whether `and` follows, and not the end.
        mutating func hasAnother() throws(UsageError) -> Bool {
            skipSpaces()
            let start = rest
            if rest.isEmpty { return false }
            guard takeWhile({ $0.isLetter }) == "and" else { throw fault("\"and\" or the end", at: start) }
            return true
        }

        private mutating func number() throws(UsageError) -> Value {
            let start = rest
            guard let number = Int64(takeWhile { $0.isASCII && $0.isNumber }) else {
                throw fault("a whole number", at: start)
            }
            return .number(number)
        }

        private mutating func quoted() throws(UsageError) -> Value {
            let start = rest
            guard rest.popFirst() == "\"" else { throw fault("a text in \"quotes\"", at: start) }
            let value = takeWhile { $0 != "\"" }
            guard rest.popFirst() != nil else { throw fault("a closing quote", at: rest) }
            return .text(Identifier(String(value)))
        }

        private mutating func takeWhile(_ isPart: (Character) -> Bool) -> Substring {
            let taken = rest.prefix(while: isPart)
            rest = rest.dropFirst(taken.count)
            return taken
        }

        private mutating func skipSpaces() { _ = takeWhile { $0.isWhitespace } }

        private func fault(_ expected: String, at place: Substring) -> UsageError {
            let column = text.distance(from: text.startIndex, to: place.startIndex) + 1
            return UsageError("--fail-if: column \(column): expected \(expected)")
        }
    }
}
