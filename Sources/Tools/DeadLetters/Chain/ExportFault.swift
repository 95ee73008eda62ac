import JSON

/// A defect of a line of an export or of its manifest, in words that follow "it".
struct ExportFault: Error, Equatable { let text: String }

extension JSONValue {
    /// Parses the whole text as one JSON object.
    static func exported(_ text: [UInt8]) throws(ExportFault) -> JSONValue {
        let root: JSONValue
        do throws(JSONError) { root = try JSONDocument(parsing: text).root } catch {
            guard error.code == .unexpectedEnd else { throw ExportFault(text: "is not JSON: \(error)") }
            throw ExportFault(text: text.isEmpty ? "is empty" : "is cut off after \(text.count) bytes")
        }
        guard root.kind == .object else { throw ExportFault(text: "is not a JSON object") }
        return root
    }

    /// Reads a required member.
    ///
    /// - Parameter form: the expected form, in words that follow "not".
    func required<Value>(_ name: String, _ form: String, read: (JSONValue) -> Value?) throws(ExportFault) -> Value {
        guard let member = self[name] else { throw ExportFault(text: "has no \"\(name)\"") }
        guard let value = read(member) else { throw ExportFault(text: "has a \"\(name)\" that is not \(form)") }
        return value
    }

    func requiredText(_ name: String) throws(ExportFault) -> String { try required(name, "a text", read: \.string) }

    func requiredNumber(_ name: String) throws(ExportFault) -> Int64 {
        try required(name, "a number of 64 bits", read: \.int64)
    }

    func requiredBool(_ name: String) throws(ExportFault) -> Bool { try required(name, "true or false", read: \.bool) }

    func requiredList(_ name: String) throws(ExportFault) -> JSONValue {
        try required(name, "a list") { $0.kind == .array ? $0 : nil }
    }
}
