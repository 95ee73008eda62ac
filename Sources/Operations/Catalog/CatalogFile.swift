import AppStore
import Entitlements
import Foundation
import Settings

/// A product catalog as it lies in a file.
struct CatalogFile {
    private static let bytesMax = 16 * 1_048_576

    let bytes: [UInt8]
    let catalog: Catalog

    /// Reads and checks it; every problem is in the error.
    init(path: String) throws(CommandError) {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw CommandError(ExitCode.noInput, "cannot read \(path)")
        }
        guard data.count <= Self.bytesMax else {
            throw CommandError(
                ExitCode.data,
                "\(path) is larger than \(Quantity.bytes(Self.bytesMax))"
            )
        }
        bytes = Array(data)
        do throws(CatalogError) {
            catalog = try Catalog(json: bytes)
        } catch {
            let problems = error.problems.map { "  \($0)" }.joined(separator: "\n")
            let count = Quantity.counted(error.problems.count, "problem")
            throw CommandError(ExitCode.data, "\(path): \(count)\n\(problems)")
        }
    }

    /// `6 products: 2 auto-renewable, 1 consumable`.
    var summary: String {
        let types = Dictionary(grouping: catalog.products.values) { $0.type.rawValue }
            .sorted { $0.key < $1.key }
            .map { "\($0.value.count) \($0.key)" }
        let count = Quantity.counted(catalog.products.count, "product")
        return types.isEmpty ? count : "\(count): \(types.joined(separator: ", "))"
    }
}
