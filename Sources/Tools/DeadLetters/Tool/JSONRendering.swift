import JSON

/// A JSON value as indented JSON for people, bounded in bytes while it is written.
struct JSONRendering {
    /// Whether a value has a name that `Disclosure` lists.
    private enum Naming {
        /// A listed name, and the value may be shown.
        case shown
        case hidden
        /// The root, and elements of a list without a name: only listed members in them are shown.
        case none
    }

    private let isRevealing: Bool
    private let bytesMax: Int
    private var bytes: [UInt8] = []

    /// - Parameters:
    ///   - isRevealing: whether to show everything, instead of what `Disclosure` lists.
    ///   - bytesMax: the number of bytes after which no further value begins.
    static func text(_ value: JSONValue, isRevealing: Bool, bytesMax: Int) -> String {
        var rendering = JSONRendering(isRevealing: isRevealing, bytesMax: bytesMax)
        rendering.write(value, .none, indent: "")
        return String(decoding: rendering.bytes, as: UTF8.self)
    }

    private init(isRevealing: Bool, bytesMax: Int) {
        self.isRevealing = isRevealing
        self.bytesMax = bytesMax
    }

    /// Writes a value by recursion; the parser limits how deep JSON nests.
    private mutating func write(_ value: JSONValue, _ naming: Naming, indent: String) {
        let isContainer = value.kind == .object || value.kind == .array
        if isContainer, value.count == 0 {
            append(value.kind == .object ? "{}" : "[]")
        } else if isContainer, isRevealing || naming != .hidden {
            value.kind == .object ? members(value, indent) : elements(value, naming, indent: indent)
        } else if isRevealing, value.range.count <= max(0, bytesMax - bytes.count) {
            bytes.append(contentsOf: value.rawBytes)
        } else if !isRevealing, naming == .shown, Disclosure.isHarmless(value) {
            bytes.append(contentsOf: value.rawBytes)
        } else {
            let quotes = value.kind == .string ? 2 : 0
            append("\"\(Disclosure.hidden(value.range.count - quotes))\"")
        }
    }

    private mutating func elements(_ list: JSONValue, _ naming: Naming, indent: String) {
        let inner = indent + "  "
        var written = 0
        append("[")
        for element in list.elements {
            append(written == 0 ? "\n" + inner : ",\n" + inner)
            guard bytes.count < bytesMax else {
                append("\"<\(list.count - written) more elements left out>\"")
                break
            }
            write(element, naming, indent: inner)
            written += 1
        }
        append("\n" + indent + "]")
    }

    private mutating func members(_ object: JSONValue, _ indent: String) {
        let inner = indent + "  "
        var separator = "\n" + inner
        var (written, hidden, hiddenBytes) = (0, 0, 0)
        append("{")
        for (key, member) in object.members {
            guard bytes.count < bytesMax else {
                append(separator + "\"more\": \"<\(object.count - written) members left out>\"")
                break
            }
            written += 1
            let known = Disclosure.name(of: key)
            guard isRevealing || known != nil else {
                hidden += 1
                hiddenBytes += key.range.count + member.range.count
                continue
            }
            append(separator)
            if let known {
                append("\"\(known.text)\": ")
            } else {
                write(key, .none, indent: inner)
                append(": ")
            }
            write(member, known?.isShown == true ? .shown : .hidden, indent: inner)
            separator = ",\n" + inner
        }
        if hidden > 0 { append(separator + "\"hidden\": \"<\(hidden) members, \(hiddenBytes) bytes>\"") }
        append("\n" + indent + "}")
    }

    private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }
}
