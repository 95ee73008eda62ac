import Settings
import Store

/// One file of archived history, and how many of its rows are about a user.
struct SearchedArchive {
    /// Why the count is not, or may not be, all there is.
    enum Fault: Equatable {
        case notThere
        case otherFile
        case damaged(line: Int)
        case incomplete(rows: Int, of: Int64)
    }

    let header: ArchiveHeader
    let file: String
    var rows = 0
    var fault: Fault?

    /// False if the file was not looked into at all.
    var isSearched: Bool { fault != .notThere && fault != .otherFile }

    private var problem: String? {
        switch fault {
        case nil: nil
        case .notThere: "not looked into: there is no such file here"
        case .otherFile: "not looked into: the file is not this archive"
        case .damaged(let line): "line \(line) cannot be read; what it holds is not counted"
        case .incomplete(let rows, let all):
            "holds \(Quantity.grouped(rows)) of its \(Quantity.counted(all, "row"))"
        }
    }

    static func parts(_ archives: [SearchedArchive]) -> [TextPart] {
        guard !archives.isEmpty else { return [] }
        let table = TextTable(archives, columns) { $0.problem != nil }
        var parts: [TextPart] = [.blank, .table(table), .blank, .line(note)]
        if archives.contains(where: { !$0.isSearched }) { parts.append(.line(searchNote)) }
        return parts
    }

    static let columns: [ReportColumn<SearchedArchive>] = [
        .member("archive", \.header.number), .init("file", title: "archive", \.file),
        .init("table", rank: 1, \.header.table.rawValue), .member("is_searched", \.isSearched),
        .init("rows") {
            $0.isSearched ? $0.rows : nil
        } cell: {
            $0.isSearched ? Quantity.grouped($0.rows) : "?"
        },
        .init("remark", \.problem) { $0.problem ?? "" },
    ]

    private static let note =
        "Files of 'pipeline history archive' are searched by the user's ID, and by the links, "
        + "claims and purchases that the database names: ask before 'forget', which removes links "
        + "and claims. 'forget' changes no file; delete files when your retention says so."

    private static let searchNote =
        "Where the files lie elsewhere, name the folder: --archives FOLDER. Files that were "
        + "deleted hold nothing any more; compressed ones have to be unpacked."
}
