import OpenSSL
import Simulation

/// An authority and one certificate it issues, with room to break either.
struct MintedChain {
    let rootKey: PrivateKey
    let leafKey: PrivateKey
    var root: CertificateBuilder
    var leaf: CertificateBuilder

    static let validity: ClosedRange<Int64> = 1_700_000_000...1_800_000_000

    init(rootKey: PrivateKey, leafKey: PrivateKey) {
        self.rootKey = rootKey
        self.leafKey = leafKey
        root = CertificateBuilder(subject: "Root", issuer: "Root", validity: Self.validity)
        root.isCA = true
        root.keyUsage = [.keyCertSign, .crlSign]
        root.subjectKeyIdentifier = rootKey.keyIdentifier
        leaf = CertificateBuilder(subject: "Leaf", issuer: "Root", validity: Self.validity)
        leaf.isCA = false
        leaf.keyUsage = .digitalSignature
        leaf.authorityKeyIdentifier = rootKey.keyIdentifier
    }

    init() throws { try self.init(rootKey: .generate(.p384), leafKey: .generate(.p256)) }

    func parsedRoot() throws -> Certificate { try Certificate(der: root.der(for: rootKey, signedBy: rootKey)) }

    func leafDER() throws -> [UInt8] { try leaf.der(for: leafKey, signedBy: rootKey) }

    func parsedLeaf() throws -> Certificate { try Certificate(der: leafDER()) }
}
