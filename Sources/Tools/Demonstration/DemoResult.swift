import AppStore
import Commands
import Operations
import Records
import Simulation
import Store
import Topology

/// The findings of a demo, to show and check.
struct DemoResult: Sendable {
    let runName: String
    let items: [DemoItem]
    /// The recovery of lost notifications.
    ///
    /// `nil` if none was lost.
    var recovery: DemoRecovery?
    /// The attempt to apply a catalog with a typing error.
    let plan: DemoPlan
    let users: [DemoUser]
    /// Time from the first body published to the last record settled.
    let duration: Duration
    let reconciliation: Reconciliation
    var letters: DemoLetters
    let states: [String: DemoUserState]
    let holdings: [EntitlementDetails.Held]
    let credits: [EntitlementDetails.Credited]
    /// The users whose holdings are shown, in order.
    let shownUserIDs: [String]
    /// Workers that did not stop normally.
    let failedWorkers: [String]

    /// Number of bodies by kind, in the order of the kinds.
    var counts: [(kind: DemoKind, count: Int)] {
        let counts = items.reduce(into: [DemoKind: Int]()) { $0[$1.kind, default: 0] += 1 }
        return DemoKind.allCases.compactMap { kind in counts[kind].map { (kind, $0) } }
    }

    /// The kinds that the verifier must refuse.
    var refusedKinds: Set<DemoKind> { Set(items.filter { $0.expectedRefusal != nil }.map(\.kind)) }

    /// Number of dead letters by reason that the traffic must cause.
    var expectedLetters: [String: Int] {
        items.reduce(into: [:]) { counts, item in
            if let refusal = item.expectedRefusal { counts[refusal.rawValue, default: 0] += 1 }
        }
    }

    /// The problems of users whose entitlements differ from their purchases.
    var userProblems: [String] {
        let known = Dictionary(users.map { ($0.userID, $0) }) { $1 }
        var problems: [String] = []
        for user in users {
            let expected = DemoUserState(user)
            let found = states[user.userID] ?? DemoUserState()
            if found != expected { problems.append("\(user.userID) has \(found), expected \(expected)") }
        }
        for userID in states.keys.sorted() where known[userID] == nil {
            problems.append("\(userID) has something, and nobody of that name bought anything")
        }
        return problems
    }

    /// The deviations from a correct result; empty if the demo has succeeded.
    var problems: [String] {
        var problems = reconciliation.problems
        let published = Int64(items.count) + (recovery?.surplusCount ?? 0)
        if let verify = reconciliation[.verify], verify.settled != published {
            problems.append(
                "\(Quantity.grouped(published)) bodies were published, verify settled "
                    + Quantity.grouped(verify.settled))
        }
        if !reconciliation.isSettled { problems.append("some records are not settled") }
        let (found, expected) = (letters.counts, expectedLetters)
        for reason in Set(found.keys).union(expected.keys).sorted() where found[reason] != expected[reason] {
            let (came, asked) = (found[reason] ?? 0, expected[reason] ?? 0)
            problems.append("\(came) dead letters are \(reason), expected \(asked)")
        }
        if let recovery, !recovery.account.isBalanced { problems.append("notifications that Apple lists are missing") }
        if !plan.isRefused { problems.append("a catalog by which users lose a key was not refused") }
        problems += failedWorkers.map { "\($0) did not end in good order" }
        return problems + userProblems
    }
}

extension DemoUserState: CustomStringConvertible {
    package var description: String {
        var parts = entitlements.sorted()
        parts += sandboxEntitlements.sorted().map { "\($0) (Sandbox)" }
        if coins != 0 { parts.append("\(coins) coins") }
        return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
    }
}
