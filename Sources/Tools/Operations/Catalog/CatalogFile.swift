import AppStore
import Commands
import Entitlements
import Foundation
import Settings

/// A product catalog as it lies in a file: in the product's own format, or as Xcode's `.storekit`
/// file, which another one in the own format may complete.
struct CatalogFile {
    let content: StorableCatalog

    var catalog: Catalog { content.catalog }

    /// Reads and checks it; every problem is in the error.
    init(path: String) throws(CommandError) {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandError(ExitCode.noInput, "cannot read \(path)")
        }
        content = try Self.checking(path) { () throws(CatalogError) in
            let bytes = Array(data)
            let root = try Catalog.document(bytes)
            return try StorableCatalog(
                Catalog.isStoreKitConfiguration(root) ? Catalog(storeKitConfiguration: root).json : bytes)
        }
    }

    /// The products of `completing` replace those of the same IDs.
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

    /// `6 products: 2 auto-renewable, 1 consumable`.
    var summary: String {
        let types = Dictionary(grouping: catalog.products.values) { $0.type.rawValue }.sorted { $0.key < $1.key }.map {
            "\($0.value.count) \($0.key)"
        }
        let count = Quantity.counted(catalog.products.count, "product")
        return types.isEmpty ? count : "\(count): \(types.joined(separator: ", "))"
    }

    /// Entries that are valid but perhaps not meant, by product.
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
