package import HTTP
package import OpenSSL

/// A throw-away authority for the certificates of TLS servers.
package struct ServerAuthority: Sendable {
    private let key: PrivateKey
    private let root: [UInt8]
    private static let name = "Simulated Server Root"

    package init() throws(KeyError) {
        key = try .generate(.p256)
        var builder = CertificateBuilder(
            subject: Self.name, issuer: Self.name, validity: CertificateAuthority.standardValidity)
        builder.isCA = true
        builder.keyUsage = [.keyCertSign, .crlSign]
        builder.subjectKeyIdentifier = key.keyIdentifier
        root = try builder.der(for: key, signedBy: key)
    }

    /// The root as a file for clients.
    package var rootPEM: String { PEM.encode(root, label: "CERTIFICATE") }

    /// A new certificate and its key.
    ///
    /// - Parameter hosts: DNS names and IPv4 addresses.
    package func identity(of hosts: [String]) throws(KeyError) -> HTTPIdentity {
        let ownKey = try PrivateKey.generate(.p256)
        var builder = CertificateBuilder(
            subject: hosts.first ?? "", issuer: Self.name, validity: CertificateAuthority.standardValidity)
        builder.serialNumber = 2
        builder.isCA = false
        builder.keyUsage = .digitalSignature
        builder.subjectKeyIdentifier = ownKey.keyIdentifier
        builder.authorityKeyIdentifier = key.keyIdentifier
        builder.extensions = [
            .init(oid: "2.5.29.17", value: DER.sequence(hosts.map(Self.alternativeName))),
            .init(oid: "2.5.29.37", value: DER.sequence([DER.objectIdentifier("1.3.6.1.5.5.7.3.1")])),
        ]
        let certificate = try builder.der(for: ownKey, signedBy: key)
        return HTTPIdentity(certificates: PEM.encode(certificate, label: "CERTIFICATE") + rootPEM, key: ownKey.pem)
    }

    private static func alternativeName(_ host: String) -> [UInt8] {
        let address = host.split(separator: ".").compactMap { UInt8($0) }
        return address.count == 4 ? DER.element(0x87, address) : DER.element(0x82, Array(host.utf8))
    }
}
