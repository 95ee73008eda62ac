import AppStore
import Commands
import Entitlements
import Platform
import Settings
import Store

/// A product catalog from a file: in this package's format, or as Xcode's `.storekit` file.
///
/// A second file in this package's format may complete it.
struct CatalogFile {
    let content: StorableCatalog

    var catalog: Catalog { content.catalog }

    /// Reads and checks the file; the error lists every problem.
    init(path: String) throws(CommandError) {
        let unreadable = CommandError(ExitCode.noInput, "cannot read \(path)")
        guard let file = InputFile(path: path) else { throw unreadable }
        let whole: [UInt8]?
        do { whole = try file.readWhole(atMost: Catalog.bytesMax) } catch { throw unreadable }
        content = try Self.checking(path) { () throws(CatalogError) in
            guard let bytes = whole else { throw CatalogError.tooLarge }
            let root = try Catalog.document(bytes)
            return try StorableCatalog(
                Catalog.isStoreKitConfiguration(root) ? Catalog(storeKitConfiguration: root).json : bytes)
        }
    }

    /// Checks a catalog of the database.
    ///
    /// - Parameter subject: the catalog, for the error.
    init(stored json: JSONText, _ subject: String) throws(CommandError) {
        content = try Self.checking(subject) { () throws(CatalogError) in try StorableCatalog(Array(json.bytes)) }
    }

    /// Merges two files; products of `completing` replace those with the same IDs.
    init(_ file: CatalogFile, completedBy completing: CatalogFile) throws(CommandError) {
        content = try Self.checking("both files together") { () throws(CatalogError) in
            try StorableCatalog(file.catalog.completed(by: completing.catalog).json)
        }
    }

    private static func checking(_ subject: String, _ body: () throws(CatalogError) -> StorableCatalog)
        throws(CommandError) -> StorableCatalog
    {
        do { return try body() } catch {
            let problems = error.problems.map { "  \($0)" }.joined(separator: "\n")
            let count = Quantity.counted(error.problems.count, "problem")
            throw CommandError(ExitCode.data, "\(subject): \(count)\n\(problems)")
        }
    }

    /// The summary as text: `6 products: 2 auto-renewable, 1 consumable`.
    var summary: String {
        let types = Dictionary(grouping: catalog.products.values) { $0.type.rawValue }.sorted { $0.key < $1.key }.map {
            "\($0.value.count) \($0.key)"
        }
        let count = Quantity.counted(catalog.products.count, "product")
        return types.isEmpty ? count : "\(count): \(types.joined(separator: ", "))"
    }

    /// Remarks about entries that are valid but perhaps unintended, ordered by product.
    var remarks: [String] {
        catalog.products.sorted { $0.key < $1.key }.compactMap { id, product in
            switch product.type {
            case .consumable where product.credits.isEmpty: "\(id) credits nothing"
            case .nonRenewing where product.durations.isEmpty: "\(id) has no end"
            default: nil
            }
        }
    }
}
