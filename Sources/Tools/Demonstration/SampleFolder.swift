import Commands
import Foundation
import JSON
import OpenSSL
import Operations
import Settings
import Simulation

/// The folder of a local authority, with the files that make a pipeline trust it.
struct SampleFolder {
    private static let authorityFile = "authority.pem"
    private static let receiptAuthorityFile = "receipt-authority.pem"
    private static let rootFile = "root.pem"
    private static let appsFile = "apps.json"
    private static let catalogFile = "catalog.json"
    private static let linksFile = "links.jsonl"

    private let folder: DemoFolder

    init(_ path: String) throws(CommandError) {
        folder = try DemoFolder(at: URL(filePath: path).standardizedFileURL.path)
    }

    /// Returns the authorities of the folder, and creates them on first use.
    func signers() throws -> DemoSigners {
        let signers = DemoSigners(
            jws: try authority(Self.authorityFile) { try CertificateAuthority(name: "Sample") },
            receipts: try authority(Self.receiptAuthorityFile) { try CertificateAuthority(.receipts(name: "Sample")) })
        let roots = signers.jws.rootPEM + signers.receipts.rootPEM
        try folder.write(roots.utf8, to: Self.rootFile)
        return signers
    }

    private func authority(_ name: String, _ make: () throws -> CertificateAuthority) throws -> CertificateAuthority {
        let path = folder.path(of: name)
        guard FileManager.default.fileExists(atPath: path) else {
            let made = try make()
            try folder.write(made.pem.utf8, to: name)
            return made
        }
        guard let bytes = FileManager.default.contents(atPath: path) else {
            throw CommandError(ExitCode.noInput, "cannot read \(path)")
        }
        guard let found = CertificateAuthority(pem: Array(bytes)) else {
            throw CommandError(
                ExitCode.data, "\(path) is no authority that this command made: remove it, or choose another --folder")
        }
        return found
    }

    /// Writes the files of a sample.
    ///
    /// - Returns: the text with the next steps.
    func write(_ sample: Sample) throws -> String {
        let setting = DemoSettings.json(sample.apps, rootFile: folder.path(of: Self.rootFile))
        let apps = String(decoding: setting.bytes, as: UTF8.self)
        try folder.write("\(apps)\n".utf8, to: Self.appsFile)
        try folder.write(sample.catalog, to: Self.catalogFile)
        var commands = ["pipeline catalog apply \(folder.path(of: Self.catalogFile))"]
        if let links = sample.links {
            try folder.write(links, to: Self.linksFile)
            commands.append("pipeline link add --from \(folder.path(of: Self.linksFile)) --by NAME --reason TEXT")
        }
        let next = (commands + sample.notes).map { "  \($0)\n" }.joined()
        return """
            \(Quantity.counted(sample.bodies.count, "body", "bodies")). verify-worker trusts the \
            signing authority by APPS, or apps of its settings, as in \
            \(folder.path(of: Self.appsFile)):
              \(apps)
            They also need:
            \(next)
            """
    }
}
