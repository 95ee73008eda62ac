package import OpenSSL

extension AuthorityBlueprint {
    /// The same authority with its next leaf, as Apple has one about every two years.
    package func withNextLeaf(
        validity: ClosedRange<Int64>
    ) throws(KeyError) -> AuthorityBlueprint {
        var next = self
        next.leafKey = try .generate(.p256)
        next.leaf.serialNumber += 1
        next.leaf.validity = validity
        next.leaf.subjectKeyIdentifier = next.leafKey.keyIdentifier
        return next
    }

    /// The same root with its next intermediate, and a leaf of that one.
    package func withNextIntermediate(
        named name: String,
        validity: ClosedRange<Int64>
    ) throws(KeyError) -> AuthorityBlueprint {
        var next = self
        next.intermediateKey = try .generate(.p384)
        next.intermediate.serialNumber += 1
        next.intermediate.subject = name
        next.intermediate.validity = validity
        next.intermediate.subjectKeyIdentifier = next.intermediateKey.keyIdentifier
        next.leaf.issuer = name
        next.leaf.authorityKeyIdentifier = next.intermediateKey.keyIdentifier
        return try next.withNextLeaf(validity: validity)
    }
}
