import Demonstration
import Operations
import Postgres
import Simulation
import TestSupport
import Store

extension RunningPipeline {
    /// Removes links, gives them to strangers and writes them again while everything runs; at the
    /// end all of them are as in the traffic.
    ///
    /// - Returns: how often a link changed.
    @discardableResult func changeLinks(seed: UInt64, until isOver: () -> Bool) async throws -> Int {
        var generator = SeededGenerator(seed: seed)
        let links = traffic.accountLinks
        return try await withDatabase { connection in
            var changes = 0
            while !isOver() {
                try Task.checkCancellation()
                let chosen = links.shuffled(using: &generator).prefix(Self.linksAtOnce)
                if Bool.random(using: &generator) {
                    changes += try await AccountLinkTable.drop(chosen, on: connection)
                } else {
                    let strange = chosen.map { link in
                        var link = link
                        link.userID = "stranger-\(Int.random(in: 1...3, using: &generator))"
                        return link
                    }
                    changes += try await AccountLinkTable.put(strange, on: connection)
                }
                _ = await becomesTrue(within: .milliseconds(60), isOver)
                changes += try await AccountLinkTable.put(chosen, on: connection)
            }
            return changes
        }
    }

    /// The same a few times.
    func changeLinks(seed: UInt64, rounds: Int) async throws {
        for round in 0..<rounds {
            var hasBegun = false
            try await changeLinks(seed: seed * 100 + UInt64(round)) {
                defer { hasBegun = true }
                return hasBegun
            }
        }
    }

    private static let linksAtOnce = 20
}
