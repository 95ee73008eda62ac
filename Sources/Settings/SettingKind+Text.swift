import Foundation

extension SettingKind where Value == String {
    /// Text of a length in UTF-8 bytes, without control characters.
    package static func string(bytes: ClosedRange<Int> = 1...4096) -> SettingKind {
        SettingKind(
            type: "text",
            expected: bytes.lowerBound == 0
                ? "text of at most \(bytes.upperBound) bytes"
                : "text of \(bytes.lowerBound) to \(bytes.upperBound) bytes",
            read: { input throws(SettingMismatch) in
                guard let text = input.string, bytes.contains(text.utf8.count),
                    text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
                else { throw .whole }
                return text
            },
            render: { $0 }
        )
    }

    /// The path of a file that this process can read.
    package static var file: SettingKind {
        SettingKind(
            type: "file",
            expected: "the path of a file that this process can read",
            read: { input throws(SettingMismatch) in
                guard let path = input.string, FileBytes.isReadable(path) else { throw .whole }
                return path
            },
            render: { $0 }
        )
    }
}

extension SettingKind
where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of an enumeration's raw values, in exactly that spelling.
    package static var choice: SettingKind {
        let choices = Value.allCases.map(\.rawValue)
        return SettingKind(
            type: "choice",
            expected: "one of \(choices.joined(separator: ", "))",
            read: { input throws(SettingMismatch) in
                guard let value = input.string.flatMap(Value.init(rawValue:)) else { throw .whole }
                return value
            },
            render: { $0.rawValue }
        )
    }
}
