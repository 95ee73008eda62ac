import Commands
import Testing

@Suite struct ReportTests {
    @Test func `a text of its own is cut like the JSON value's`() {
        let columns: [ReportColumn<String>] = [
            .init("plain", lengthMax: 3, \.self), .init("own", lengthMax: 3, \.self) { $0.uppercased() },
            .words("words", lengthMax: 3, \.self), .init("whole", \.self),
        ]
        #expect(columns.cells("abcdef") == ["abc…", "ABC…", "abc…", "abcdef"])
    }
}
