import JSON
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
        var table = TextTable([
            .init("archive"), .init("table", rank: 1), .init("rows", .right), .init("remark"),
        ])
        for archive in archives {
            table.add(
                [
                    archive.file, archive.header.table.rawValue,
                    archive.isSearched ? Quantity.grouped(archive.rows) : "?",
                    archive.problem ?? "",
                ],
                isBad: archive.problem != nil
            )
        }
        var parts: [TextPart] = [.blank, .table(table), .blank, .line(note)]
        if archives.contains(where: { !$0.isSearched }) { parts.append(.line(searchNote)) }
        return parts
    }

    static func write(_ archives: [SearchedArchive], to writer: inout JSONWriter) {
        writer.array { writer in
            for archive in archives {
                writer.object { writer in
                    writer.member("archive", archive.header.number)
                    writer.member("table", archive.header.table.rawValue)
                    writer.member("file", archive.file)
                    writer.member("isSearched", archive.isSearched)
                    writer.key("rows")
                    if archive.isSearched {
                        writer.int(archive.rows)
                    } else {
                        writer.null()
                    }
                    writer.member("remark", archive.problem)
                }
            }
        }
    }

    private static let note =
        "Files of 'pipeline history archive' are searched by the user's ID, and by the links, "
        + "claims and purchases that the database names: ask before 'forget', which removes links "
        + "and claims. 'forget' changes no file; delete files when your retention says so."

    private static let searchNote =
        "Where the files lie elsewhere, name the folder: --archives FOLDER. Files that were "
        + "deleted hold nothing any more; compressed ones have to be unpacked."
}
