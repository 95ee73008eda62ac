import AppStore
import Entitlements
import Foundation
import JSON
import Settings

/// A product catalog as it lies in a file: in the product's own format, or as Xcode's `.storekit`
/// file, which another one in the own format may complete.
struct CatalogFile {
    private static let bytesMax = 16 * 1_048_576

    /// In the product's own format.
    let bytes: [UInt8]
    let catalog: Catalog

    /// Reads and checks it; every problem is in the error.
    init(path: String) throws(CommandError) {
        let content = try Self.read(path)
        do throws(CatalogError) {
            let isImported: Bool
            (catalog, isImported) = try Self.catalog(content)
            bytes = isImported ? catalog.json : content
        } catch {
            let problems = error.problems.map { "  \($0)" }.joined(separator: "\n")
            let count = Quantity.counted(error.problems.count, "problem")
            throw CommandError(ExitCode.data, "\(path): \(count)\n\(problems)")
        }
    }

    /// The products of `completing` replace those of the same IDs.
    init(_ file: CatalogFile, completedBy completing: CatalogFile) {
        catalog = file.catalog.completed(by: completing.catalog)
        bytes = catalog.json
    }

    private static func read(_ path: String) throws(CommandError) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandError(ExitCode.noInput, "cannot read \(path)")
        }
        guard data.count <= bytesMax else {
            throw CommandError(ExitCode.data, "\(path) is larger than \(Quantity.bytes(bytesMax))")
        }
        return Array(data)
    }

    /// Also whether it was read from another format than the product's own.
    private static func catalog(_ content: [UInt8]) throws(CatalogError) -> (Catalog, Bool) {
        guard let root = try? JSONDocument(parsing: content).root,
            Catalog.isStoreKitConfiguration(root)
        else { return (try Catalog(json: content), false) }
        return (try Catalog(storeKitConfiguration: root), true)
    }

    /// `6 products: 2 auto-renewable, 1 consumable`.
    var summary: String {
        let types = Dictionary(grouping: catalog.products.values) { $0.type.rawValue }
            .sorted { $0.key < $1.key }
            .map { "\($0.value.count) \($0.key)" }
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
