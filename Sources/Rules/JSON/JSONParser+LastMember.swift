/// The early end of reading, for callers that need only the first members of an object.
extension JSONParser {
    /// Whether the next bytes are the comma and the name of this member of the outermost object, as `JSONWriter`
    /// writes them.
    func isBefore(_ member: StaticString, _ input: Span<UInt8>, expecting expected: Expectation) -> Bool {
        guard open.count == 1, open[0].isObject, expected == .commaOrEnd else { return false }
        let name = position + 2
        let end = name + member.utf8CodeUnitCount
        return end + 1 < input.count && input[position] == UInt8(ascii: ",")
            && input[position + 1] == UInt8(ascii: "\"")
            && (name..<end).allSatisfy { input[$0] == member.utf8Start[$0 - name] } && input[end] == UInt8(ascii: "\"")
            && input[end + 1] == UInt8(ascii: ":")
    }
}
