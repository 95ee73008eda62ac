package import OpenSSL

extension CertificateAuthority {
    /// A receipt (PKCS #7 SignedData) of exactly this content, in BER.
    ///
    /// The authority's leaf has to have an RSA key, as `AuthorityBlueprint.receipts` gives it.
    package func signReceipt(_ content: [UInt8], _ form: ReceiptForm = ReceiptForm()) throws(KeyError) -> [UInt8] {
        let signer = try signerInfo(of: content, form)
        let signers = [[UInt8]](repeating: signer, count: form.signersCount)
        let chain = form.certificates ?? self.chain
        let signedData = Self.constructed(
            0x30,
            [
                DER.integer(1), DER.set(Self.algorithm(form.digestOID)),
                Self.contentInfo(form.shownContent ?? content, form), DER.element(0xA0, Array(chain.joined())),
                DER.set(Array(signers.joined())),
            ], form)
        let message = [DER.objectIdentifier("1.2.840.113549.1.7.2"), Self.constructed(0xA0, [signedData], form)]
        return Self.constructed(0x30, message, form) + form.trailing
    }

    /// The same in base64, as an app posts it.
    package func receiptText(_ fields: ReceiptFields, _ form: ReceiptForm = ReceiptForm()) throws(KeyError) -> [UInt8] {
        Base64Text.standard(try signReceipt(fields.content, form))
    }

    private func signerInfo(of content: [UInt8], _ form: ReceiptForm) throws(KeyError) -> [UInt8] {
        let attributes = form.hasSignedAttributes ? try Self.attributes(of: content, form) : []
        let signed = form.hasSignedAttributes ? DER.set(attributes) : content
        let signature = try (form.signerKey ?? leafKey).sign(signed, digest: form.digest)
        return DER.sequence([
            DER.integer(1), signerIdentifier, Self.algorithm(form.digestOID),
            form.hasSignedAttributes ? DER.element(0xA0, attributes) : [], Self.algorithm(form.signatureAlgorithm),
            DER.octetString(signature),
            form.hasUnsignedAttributes ? DER.element(0xA1, Self.attribute("1.2.3.4", DER.integer(7))) : [],
        ])
    }

    private static func attributes(of content: [UInt8], _ form: ReceiptForm) throws(KeyError) -> [UInt8] {
        let digest = form.digest == .sha1 ? SHA1.digest(content) : SHA256.digest(content).bytes
        let type = DER.objectIdentifier(form.namedContentType)
        let named = [
            ("1.2.840.113549.1.9.3", type), ("1.2.840.113549.1.9.4", DER.octetString(form.namedDigest ?? digest)),
        ]
        let attributes = named.map { oid, value in
            let values = repeatElement(value, count: form.signedAttributeValues).joined()
            return repeatElement(attribute(oid, Array(values)), count: form.signedAttributeCopies)
        }
        return Array(attributes.joined().joined())
    }

    private static func attribute(_ oid: String, _ value: [UInt8]) -> [UInt8] {
        DER.sequence([DER.objectIdentifier(oid), DER.set(value)])
    }

    private static func algorithm(_ oid: String) -> [UInt8] {
        DER.sequence([DER.objectIdentifier(oid), DER.element(0x05, [])])
    }

    private static func contentInfo(_ content: [UInt8], _ form: ReceiptForm) -> [UInt8] {
        let type = DER.objectIdentifier(form.contentType)
        guard form.hasContent else { return constructed(0x30, [type], form) }
        let string: [UInt8]
        if let pieceBytes = form.pieceBytes {
            let pieces = stride(from: 0, to: content.count, by: pieceBytes).map { start in
                DER.octetString(Array(content[start..<min(start + pieceBytes, content.count)]))
            }
            string = (0..<form.pieceDepth).reduce(Array(pieces.joined())) { inner, _ in constructed(0x24, [inner], form)
            }
        } else {
            string = DER.octetString(content)
        }
        return constructed(0x30, [type, constructed(0xA0, [string], form)], form)
    }

    /// Encodes a constructed value, with indefinite length if the form asks for BER.
    private static func constructed(_ tag: UInt8, _ parts: [[UInt8]], _ form: ReceiptForm) -> [UInt8] {
        let content = Array(parts.joined())
        return form.pieceBytes == nil ? DER.element(tag, content) : [tag, 0x80] + content + [0, 0]
    }
}
