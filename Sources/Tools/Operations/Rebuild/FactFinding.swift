import AppStore
import Entitlements
import JSON
import Records
import Store

/// A fact that differs from Apple's signed content, or that cannot be compared.
///
/// It contains names of columns and IDs of purchases, but no values: no token and nothing from a payload.
struct FactFinding {
    enum Fault: Equatable {
        /// The columns with these names differ, such as `expires_date_ms, trust`.
        case differs(columns: String)
        /// A content was signed later than the row's content.
        case behind(columns: String)
        case rowMissing
        case rowMissingUntrusted
        case rowMissingAmbiguous
        /// The content that this column names is missing.
        case contentMissing(column: String)
        case contentUnreadable
        case spanMissing(RenewalSpan)
        case spanUngranted(RenewalSpan)
        /// The content that may have granted the span cannot be read.
        case spanUncertain(RenewalSpan)
    }

    let table: String
    let environment: String
    /// The app's bundle ID.
    ///
    /// `nil` for renewal info, which names no app.
    var bundleID: Identifier?
    var originalTransactionID: Identifier?
    /// ID of the transaction or the account.
    ///
    /// `nil` for renewal info.
    var id: Identifier?
    var track: Track?
    let fault: Fault
    /// The raw record that first contained a content.
    var source: RecordPosition?

    /// Whether `--replace` corrects the fact.
    var isReplaceable: Bool {
        switch fault {
        case .differs, .behind, .rowMissing, .spanMissing, .spanUngranted: true
        case .rowMissingUntrusted, .rowMissingAmbiguous, .contentMissing, .contentUnreadable, .spanUncertain: false
        }
    }
}

extension FactFinding {
    /// The purchase of a lost transaction that cannot be restored.
    ///
    /// `nil` for any other finding.
    var incomplete: PurchaseScope? {
        guard table == "transactions", let originalTransactionID,
            fault == .rowMissingUntrusted || fault == .rowMissingAmbiguous
        else { return nil }
        return PurchaseScope(
            environment: Environment(rawValue: environment), originalTransactionID: originalTransactionID)
    }
}

extension FactFinding {
    /// Creates a finding that names a row by its IDs.
    ///
    /// An account is not shown: its row is named by the raw record of one of its contents.
    init<Fact: ReviewedFact>(
        _ table: ReviewedTable<Fact>, _ row: ReviewedRow<Fact>, fault: Fault, source: RecordPosition? = nil
    ) {
        let purchase = row.fact.purchase
        self.init(
            table.name, row.fact.subject, originalTransactionID: purchase?.originalTransactionID, fault: fault,
            source: purchase == nil ? row.newest?.source : source)
    }

    init(
        _ table: String, _ subject: RevisionTable.Subject, originalTransactionID: Identifier?, fault: Fault,
        source: RecordPosition? = nil
    ) {
        let isTransaction = subject.kind == .transaction
        self.init(
            table: table, environment: subject.environment.rawValue,
            bundleID: subject.kind == .renewal ? nil : subject.bundleID, originalTransactionID: originalTransactionID,
            id: isTransaction ? subject.id : nil, track: isTransaction ? subject.track : nil, fault: fault,
            source: source)
    }

    init(_ table: String, _ key: RenewalKey, fault: Fault) {
        self.init(table, key.scope.renewals, originalTransactionID: key.originalTransactionID, fault: fault)
    }
}

extension FactFinding.Fault {
    init(_ replaced: ReplacedRow, isBehind: Bool) {
        if replaced.isMissing {
            self = .rowMissing
        } else if isBehind {
            self = .behind(columns: replaced.columns)
        } else {
            self = .differs(columns: replaced.columns)
        }
    }
}

extension FactFinding {
    var line: String {
        let place = [environment, bundleID?.text, originalTransactionID?.text].compactMap { $0 }
        let track = track.map { " (\($0.rawValue))" } ?? ""
        let row = [table, id?.text].compactMap { $0 }.joined(separator: " ") + track
        return "\(place.joined(separator: " ")) \(row): \(fault.phrase)"
            + (source.map { "; the raw record is \($0)" } ?? "")
    }

    var json: JSONContent {
        [
            "kind": "fact", "environment": environment, "bundle_id": bundleID,
            "original_transaction_id": originalTransactionID, "table": table, "id": id, "track": track?.rawValue,
            "finding": fault.name, "detail": fault.phrase, "is_replaceable": isReplaceable,
            "source": source?.description,
        ]
    }
}

extension FactFinding.Fault {
    /// The name of the kind of finding, for programs.
    fileprivate var name: String {
        switch self {
        case .differs: "differs"
        case .behind: "behind"
        case .rowMissing, .rowMissingUntrusted, .rowMissingAmbiguous: "row_missing"
        case .contentMissing: "content_missing"
        case .contentUnreadable: "content_unreadable"
        case .spanMissing(let span): "\(span.kind.rawValue)_missing"
        case .spanUngranted(let span), .spanUncertain(let span): "\(span.kind.rawValue)_ungranted"
        }
    }

    fileprivate var phrase: String {
        switch self {
        case .differs(let columns): "differs from what was signed in \(columns)"
        case .behind(let columns): "is behind a newer content in \(columns)"
        case .rowMissing: "has no row, and its content is there"
        case .rowMissingUntrusted:
            "has no row, and who vouched for its content is not known; have dedupe-worker forget "
                + "it ('pipeline dedupe forget') and publish its raw record again"
        case .rowMissingAmbiguous:
            "has no row, and which of its contents is the newest is not known; have dedupe-worker "
                + "forget it ('pipeline dedupe forget') and publish its raw records again"
        case .contentMissing(let column):
            "the content that \(column) names is not in revisions; restore it from "
                + "a file that the table history_archives lists, or a backup"
        case .contentUnreadable:
            "a content in revisions is not what its hash was made of; restore its payload from a backup"
        case .spanMissing(let span): "lacks the \(span.phrase)"
        case .spanUngranted(let span): "no content grants the \(span.phrase)"
        case .spanUncertain(let span):
            "no content that can be read grants the \(span.phrase); restore the contents first"
        }
    }
}

extension RenewalSpan {
    /// The span as text: `grace until 12000`.
    fileprivate var phrase: String { "\(kind.rawValue) until \(end.milliseconds)" }
}
