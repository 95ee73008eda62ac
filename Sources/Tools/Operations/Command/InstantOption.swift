import AppStore
import Settings

extension SettingKind where Value == Timestamp {
    /// An instant as operators write it; a date means its beginning in UTC.
    static var instant: SettingKind {
        SettingKind(
            type: "instant", expected: "a date such as 2026-12-31 or 2026-12-31T12:00:00Z",
            read: { input throws(SettingMismatch) in
                guard let text = input.string,
                    let instant = Timestamp(iso8601: text) ?? Timestamp(rfc3339: Array(text.utf8))
                else { throw SettingMismatch([]) }
                return instant
            }, render: \.description)
    }
}
