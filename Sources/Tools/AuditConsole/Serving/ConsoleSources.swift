import AppStore
import DeadLetters
import HTTP
import Postgres
import Store

/// The sources of the pages' data.
struct ConsoleSources: Sendable {
    let database: PostgresClient
    let topic: DeadLetterTopic
    let runs: ReplayRuns
    let chains: ChainWatch
    let now: @Sendable () -> Timestamp
}

extension ConsoleSources {
    /// Reads the index's progress.
    func standing() async throws -> IndexStanding { try await .read(topic, on: database, now: now()) }

    /// All pages for signed-in users, with the role that each requires.
    var routes: [ConsoleRoute] {
        let letter = LetterPage(sources: self)
        let decisions = Decisions(sources: self)
        let refunds = RefundsPage(sources: self)
        let plans = PlansPage(sources: self)
        return [
            ConsoleRoute(.get, "", for: .viewer, handler: OverviewPage(sources: self).answer),
            ConsoleRoute(.get, "groups", for: .viewer, handler: GroupsPage(sources: self).answer),
            ConsoleRoute(.get, "groups/*", for: .viewer, handler: GroupPage(sources: self).answer),
            ConsoleRoute(.get, "search", for: .viewer, handler: SearchPage(sources: self).answer),
            ConsoleRoute(.get, "history", for: .viewer, handler: HistoryPage(sources: self).answer),
            ConsoleRoute(.get, "refunds", for: .viewer, handler: refunds.answer),
            ConsoleRoute(.get, "refunds/*", for: .viewer, handler: refunds.one),
            ConsoleRoute(.get, "plans", for: .viewer, handler: plans.answer),
            ConsoleRoute(.get, "plans/*", for: .viewer, handler: plans.one),
            ConsoleRoute(.get, "help", for: .viewer) { _ in .page(HelpPage.page) },
            ConsoleRoute(.get, "letters/*", for: .viewer, handler: letter.answer),
            ConsoleRoute(.post, "letters/*/reveal", for: .investigator, handler: letter.reveal),
            ConsoleRoute(.post, "letters/*/state", for: .operator, handler: decisions.ofOne),
            ConsoleRoute(.post, "decisions", for: .operator, handler: decisions.ofMany),
        ] + ReplayPages(sources: self, runs: runs).routes
    }
}
