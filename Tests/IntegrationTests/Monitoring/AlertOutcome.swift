import Foundation

/// The outcome of one alert by its fault and repair.
struct AlertOutcome: Sendable, CustomStringConvertible {
    let alert: String
    let fault: String
    /// Time from the fault until the alert fired.
    ///
    /// `nil` if it did not fire.
    var firedAfter: Duration?
    /// Time from the repair until the alert cleared.
    ///
    /// `nil` if it did not clear.
    var clearedAfter: Duration?
    /// The reason for which the fault could not be made or repaired, or the alert not judged.
    var trouble: String?

    init(_ alert: String, fault: String) {
        self.alert = alert
        self.fault = fault
    }

    /// Whether it fired by its fault, and cleared after.
    var isSound: Bool { firedAfter != nil && clearedAfter != nil && trouble == nil }

    var description: String {
        let what =
            if let trouble { "NOT shown: \(trouble)" } else if let firedAfter, let clearedAfter {
                "fired after \(Self.seconds(firedAfter)), "
                    + "cleared \(Self.seconds(clearedAfter)) after it was mended"
            } else if let firedAfter { "fired after \(Self.seconds(firedAfter)), did NOT clear" } else {
                "did NOT fire"
            }
        return "\(alert): \(what) (\(fault))"
    }

    private static func seconds(_ duration: Duration) -> String { "\(duration.components.seconds) s" }
}

/// The results of all alerts: the text that `deploy/alerts.sh` prints.
struct AlertReport: Sendable {
    let outcomes: [AlertOutcome]
    /// The names of all alerts.
    let alerts: [String]

    /// Alerts whose every fault has shown that they fire and clear.
    var shown: [String] {
        let known = Dictionary(grouping: outcomes) { $0.alert }
        return alerts.filter { known[$0]?.allSatisfy(\.isSound) ?? false }
    }

    var isSound: Bool { shown.count == alerts.count && outcomes.allSatisfy(\.isSound) }

    /// A line for each outcome, one for each alert without a fault, and their number.
    func lines(after time: Duration) -> [String] {
        let tried = Set(outcomes.map(\.alert))
        let untried = alerts.filter { !tried.contains($0) }
        return outcomes.map(\.description) + untried.map { "\($0): NOT tried, no fault is made for it" } + [
            "\(shown.count) of \(alerts.count) alerts fired by their faults and cleared after, "
                + "in \(time.components.seconds) s"
        ]
    }
}
