import Commands
import Store

/// Actions of one person, of one kind and for one reason, without another one in between; or the
/// beginning and the end of one replay.
struct ActionRun {
    /// The last first; never empty.
    private(set) var actions: [DeadLetterAction]

    var last: DeadLetterAction { actions[0] }

    /// - Parameter actions: the last first.
    static func runs(of actions: [DeadLetterAction]) -> [ActionRun] {
        var ofReplay: [Int64: Int] = [:]
        return actions.reduce(into: []) { runs, action in
            let replay = action.deadLetterID == nil ? action.replay : nil
            let isLast = runs.last?.continues(with: action) == true
            if let index = replay.map({ ofReplay[$0] }) ?? (isLast ? runs.count - 1 : nil) {
                runs[index].actions.append(action)
            } else {
                if let replay { ofReplay[replay] = runs.count }
                runs.append(ActionRun(actions: [action]))
            }
        }
    }

    private var isReplay: Bool { last.replay != nil && last.deadLetterID == nil }

    private func continues(with action: DeadLetterAction) -> Bool {
        action.who == last.who && action.kind == last.kind && action.why == last.why && action.replay == last.replay
            && (action.deadLetterID == nil) == (last.deadLetterID == nil)
    }

    /// The detail that all actions share, or a replay's selection and interruptions.
    ///
    /// `nil` if the actions differ in their detail.
    var detail: String? {
        guard !isReplay else { return actions.reversed().compactMap(\.detail).joined(separator: "; ") }
        return actions.allSatisfy { $0.detail == last.detail } ? last.detail : nil
    }

    /// The reason of the first action.
    var why: String? { actions.last?.why }
}

extension HTML {
    private static let lettersShown = 500

    /// Actions, the last first.
    ///
    /// - Parameter continuing: whether more actions of the last run may follow on another page.
    mutating func actions(_ runs: [ActionRun], caption: String, withLetters: Bool, continuing: Bool = false) {
        let last = continuing ? runs.count - 1 : nil
        let columns: [PageColumn<(index: Int, run: ActionRun)>] =
            [
                PageColumn("When") { $0.time($1.run.last.at) },
                .row("Who") { $0.foreign($1.run.last.who, bytesMax: 80) },
                PageColumn("What") { $0.tag($1.run.last.kind.rawValue) },
            ] + (withLetters ? [PageColumn("Letters") { $0.letters(of: $1.run, isCut: $1.index == last) }] : []) + [
                PageColumn("Replay") { html, row in
                    guard let replay = row.run.last.replay else { return html.optional(nil) }
                    html.link(String(replay), to: LocalLink("replays", String(replay)))
                }, .foreign("Why", "wide", bytesMax: 500, \.run.why), .foreign("Detail", bytesMax: 200, \.run.detail),
            ]
        table(caption, runs.enumerated().map { (index: $0.offset, run: $0.element) }, columns)
    }

    private mutating func letters(of run: ActionRun, isCut: Bool) {
        let count = (isCut ? "at least " : "") + Quantity.grouped(run.actions.count)
        guard run.actions.count > 1 || isCut else { return run.last.deadLetterID.map { letter($0) } ?? optional(nil) }
        guard run.last.deadLetterID != nil else {
            return run.last.replay == nil ? text("\(count) times") : optional(nil)
        }
        element("details") { html in
            html.element("summary", text: "\(count) letters")
            html.element("ul", [.class("letters")]) { html in
                for action in run.actions.prefix(Self.lettersShown) {
                    guard let id = action.deadLetterID else { continue }
                    html.element("li") { html in
                        html.letter(id)
                        if run.detail == nil, let detail = action.detail {
                            html.text(" ")
                            html.foreign(detail, bytesMax: 200)
                        }
                    }
                }
            }
            let rest = run.actions.count - Self.lettersShown
            if rest > 0 { html.element("p", [.class("cut")], text: "\(Quantity.grouped(rest)) more not shown") }
        }
    }
}
