extension Rule {
    static let jws: [Rule] = [
        Rule(
            "JWS 1.1", "three segments in the one spelling, 64 bytes of signature, r and s in range",
            [
                "other numbers of dots are refused", "the third of three dots is named",
                "padding, whitespace and unused bits in each segment are refused", "base64url has one spelling",
                "every foreign byte is refused at every position", "any length but 64 is refused, DER too",
                "r and s out of range have an error of their own", "high s is accepted, r or s of n is not",
                "a forged JWS is refused for its one defect, cold and warm",
                "every ES256 case has Wycheproof's verdict",
                "a key gets a table after enough good signatures, and verdicts stay",
            ],
            without: [
                "segmentCount", "unusedBits", "signatureLength", "signatureRange", "signature", "base64Alphabet",
                "unusedBitsOfThree", "signatureOfTable",
            ]),
        Rule(
            "JWS 2.1", "the header is a JSON object, strictly read, of bounded size",
            [
                "header and payload are read as strictly as the envelope",
                "a huge header is refused before it is decoded",
                "doubled keys are refused in header, payload and envelope",
            ], without: ["headerForm", "headerSize", "headerObject"]),
        Rule(
            "JWS 2.2", "one algorithm",
            ["alg is the string ES256 and nothing else", "alg none is refused everywhere, Xcode's included"],
            without: ["algorithm"]),
        Rule(
            "JWS 2.3", "no critical extension", ["any crit and any b64 member refuses the header"],
            without: ["criticalMember", "criticalNull"]),
        Rule(
            "JWS 2.4", "no unencoded payload", ["any crit and any b64 member refuses the header"],
            without: ["unencodedPayload"]),
        Rule("JWS 2.5", "nothing else in the header decides", ["nothing in the header but alg and x5c decides"]),
        Rule(
            "JWS 3.1", "three certificates in standard base64",
            [
                "x5c is an array of exactly three strings", "standard base64 has one spelling",
                "x5c of four, and of the right three in another order, is refused", "1,000 certificates are refused",
            ], without: ["certificateCount", "chainArray", "base64Padding"]),
    ]

    private static let defects = "one defect, one verdict"
    private static let receiptDefects = "a chain with one defect is refused for it"

    static let certificates: [Rule] = [
        Rule(
            "Certificates 1.1", "DER of version 3, bounded, and nothing after it",
            [
                "bytes after a certificate are refused", "BER is refused where OpenSSL would read it",
                "a value in another form than DER's is refused", "a certificate's elements are at most 24 levels deep",
                "only version 3 is read", "a certificate may have the maximum size and no more",
                "an extension that OpenSSL knows and cannot read is refused", "what follows the certificate is refused",
                defects, "a malformed certificate is reported, with those before it",
            ],
            without: [
                "certificateForm", "certificateEnd", "certificateVersion", "certificateSize", "certificateExtensions",
                "certificateLengths", "certificateDepth", "derConstructed", "derPrimitive", "derBoolean", "derInteger",
                "derNull", "oldRootOnly", "oldRootOfReceipt",
            ]),
        Rule("Certificates 1.2", "all three parse", ["all three certificates parse, also under a configured root"]),
        Rule(
            "Certificates 1.3", "dates in their one form", ["a date has the one form of RFC 5280", defects],
            without: ["dateYear", "dateZone", "dateDay"]),
        Rule(
            "Certificates 1.4", "serial number and the leaf's name are free",
            ["the leaf's own subject decides nothing", defects]),
        Rule(
            "Certificates 2.1", "names by OpenSSL, key identifiers, and signatures",
            [
                "names compare as OpenSSL compares them", defects, receiptDefects,
                "an authority that copies all of Apple's names is not trusted",
            ], without: ["issuerName", "keyIdentifier", "leafSignature", "intermediateSignature"]),
        Rule(
            "Certificates 2.1", "a signature that is remembered is this root's over these bytes",
            [
                "an intermediate with a known one's name and key but other bytes is verified again",
                "an intermediate is known for one root only",
                "a chain takes two signatures, the next leaf one, a known chain none",
                "a header with only the prefix of a known one is not known",
            ], without: ["knownCertificate", "knownIntermediate", "knownRoot", "knownSignature", "knownHeader"]),
        Rule(
            "Certificates 2.2", "no weak digest under a JWS", [defects, receiptDefects],
            without: ["digest", "digestOfJWS"]),
        Rule(
            "Certificates 2.3", "keys on two curves and RSA with 2048 bits may issue",
            [defects, receiptDefects, "a certificate made to be costly is refused for its form"],
            without: ["issuerKey", "issuerKeyBits", "issuerKeyKind"]),
        Rule(
            "Certificates 3.1", "what a leaf is",
            [
                defects, receiptDefects, "a leaf on P-384 is not for this purpose",
                "the leaf has its marker once, the intermediate has it at all",
            ],
            without: [
                "leafIsNoCA", "leafKeyUsage", "leafKey", "namedCurve", "leafMarker", "leafMarkerOnce",
                "leafKeyOfReceipt",
            ]),
        Rule(
            "Certificates 3.2", "what an intermediate is",
            [defects, "the leaf has its marker once, the intermediate has it at all"],
            without: ["issuerIsCA", "issuerKeyUsage", "pathLength", "intermediateMarker", "rootIsIssuer"]),
        Rule(
            "Certificates 3.3", "nothing critical that nobody enforces",
            ["an unenforced critical extension is refused on each certificate of the chain", defects],
            without: ["criticalExtensions", "criticalExtensionsOfRoot", "criticalMarker", "nameConstraints"]),
        Rule(
            "Certificates 3.4", "a key is a point of its curve, and not infinity",
            [
                "a leaf whose key is the point at infinity verifies no signature",
                "a key that is no point of its curve is refused with its certificate", "a key at infinity is refused",
                defects,
            ], without: ["publicKey", "publicPoint", "pointAtInfinity", "leafKeyMalformed", "issuerKeyMalformed"]),
        Rule("Certificates 3.5", "extended key usage is free", [defects]),
        Rule(
            "Certificates 4.1", "three windows, to the second",
            [
                "the leaf's window, to the second at both ends",
                "intermediate and root have windows too, and warm as cold",
                "no generation signs a second before or after its time",
                "the certificates were valid at the creation date, both ends included",
            ], without: ["signersValidity", "anchorValidity"]),
        Rule(
            "Certificates 4.2", "the future is accepted and counted",
            [
                "a signed date in the future is accepted within the windows",
                "a signed date in the future is forwarded and counted",
            ]),
        Rule(
            "Certificates 4.3", "without a date", ["a payload without a valid signed date is refused"],
            without: ["signedDate"]),
    ]
}
