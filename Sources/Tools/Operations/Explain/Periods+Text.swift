import AppStore
import Postgres

extension PostgresPeriod {
    func contains(_ instant: Int64) -> Bool {
        startMilliseconds <= instant && (endMilliseconds.map { instant < $0 } ?? true)
    }

    /// `from 2026-01-01T00:00:00Z until 2026-02-01T00:00:00Z`.
    var phrase: String {
        let start = "from \(Timestamp(milliseconds: startMilliseconds).toSecond)"
        guard let end = endMilliseconds else { return "\(start) without end" }
        return "\(start) until \(Timestamp(milliseconds: end).toSecond)"
    }
}

extension [PostgresPeriod] { var phrase: String { isEmpty ? "nothing" : map(\.phrase).joined(separator: ", ") } }
