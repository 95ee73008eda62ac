extension Rule {
    static let receipts: [Rule] = [
        Rule(
            "Receipts 1.1", "base64 of the one alphabet",
            ["line breaks are allowed, other alphabets and missing padding are not"]),
        Rule(
            "Receipts 1.2", "one message in bounded BER, and nothing after it",
            [
                "nothing follows the receipt", "depth and number of elements are bounded",
                "constructed octet strings are accepted up to a depth of four",
                "bytes that are not BER of this form are refused",
                "SHA-1 and SHA-256, with and without signed attributes, DER and BER are accepted",
            ],
            without: [
                "receiptEnd", "receiptBounds", "receiptStringDepth", "receiptDepth", "receiptStringContent",
                "receiptConstructed",
            ]),
        Rule(
            "Receipts 2.1", "one signer, three certificates, its algorithms and attributes",
            [
                "a receipt has exactly one signer, with its certificate", "there are exactly three certificates",
                "certificates are counted and measured before anything is parsed",
                "the three certificates may be in any order",
                "an algorithm that names digest and key at once is accepted, any other is not",
                "another key's signature, and one over other content, are refused",
                "signed attributes name the right content type and digest, each once",
                "signed attributes as content are not a receipt", "unsigned attributes are ignored",
                "the content is data, and in the receipt",
            ],
            without: [
                "signersCount", "signerNamed", "receiptCertificateCount", "receiptAlgorithm", "receiptCertificateForm",
                "receiptSignature", "signedAttributes", "signerSerialNumber", "receiptDigest", "receiptContent",
                "attributesType", "attributesDigest", "attributesOnce", "attributesOneValue",
            ]),
        Rule(
            "Receipts 3.1", "known attributes once, unknown ones carried, records whole and not contradicting",
            [
                "the signed content is one set of attributes, and nothing else",
                "an attribute is a type, a version and a value, and nothing else",
                "a receipt with a duplicate known attribute is refused",
                "a record with a duplicate known attribute is refused",
                "the receipt's own attributes go with each record, unknown ones too",
                "a record without its IDs, product or date refuses the receipt",
                "equal records are merged, different ones of an ID refuse the receipt",
            ],
            without: [
                "attributeTwice", "recordFields", "recordsDiffer", "receiptSetEnd", "attributeEnd",
                "recordTransactionID", "recordOriginalTransactionID", "recordProduct", "recordPurchaseDate",
            ]),
        Rule(
            "Receipts 3.2", "the app's number where it is not zero",
            ["the app's number counts in Production unless it is zero"], without: ["receiptAppNumber"]),
        Rule(
            "Receipts 3.3", "its own end is recorded",
            ["the receipt's own attributes go with each record, unknown ones too"]),
        Rule(
            "Receipts 4.1", "dates by RFC 3339",
            [
                "a receipt's date reads as RFC 3339", "other forms are not dates of a receipt",
                "a receipt needs a creation date",
            ], without: ["receiptDate"]),
        Rule(
            "Receipts 5.1", "the style of iOS 6 is known and not verified",
            ["a receipt in the style of iOS 6 is recognised, and the detail says what to do"],
            without: ["legacyReceipt"]),
    ]

    /// Bounds that a reason alone does not show: how much is read of an oversized body.
    static let bounds: [Rule] = [
        Rule(
            "Bounds 1.1", "a receipt's records, attributes and certificates",
            [
                "two hundred records and eighty thousand bytes are ordinary",
                "there are bounds to how many attributes a receipt has",
                "a large certificate is refused before it is parsed",
                "a receipt refused for its size has only its search fields read",
            ], without: ["recordsCount", "attributesCount", "receiptCertificateSize"]),
        Rule(
            "Bounds 2.1", "the elements of a certificate, which a parser's work grows with",
            [
                "a certificate has a bounded number of elements",
                "a certificate made to be costly is refused for its form",
                "a receipt with a costly certificate is refused likewise",
            ], without: ["certificateElements", "elementsInStrings"]),
        Rule(
            "Bounds 3.1", "no hostile chain comes into the memory of good ones, or pushes one out",
            ["a header is remembered only after a good signature", "forged chains never displace the good one"],
            without: ["signatureBeforeMemory"]),
    ]

    /// Revocation: which certificates are asked about, and whose answer counts.
    static let responders: [Rule] = [
        Rule(
            "Responders 1.1", "who is asked, where asking is on",
            ["a question is put once per certificate and interval", "Xcode's certificate has no issuer to ask"],
            without: ["revocationOfLocal"]),
        Rule(
            "Responders 2.1", "what was signed from the revocation on is refused, and nothing before",
            [
                "payloads signed from the second of revocation on are refused",
                "the rules for a JWS apply to a receipt",
                "soft: unknown passes and is counted, revoked is refused from then on",
            ], without: ["revocation", "revocationSecond", "revocationOfIntermediate"]),
        Rule(
            "Responders 2.2", "the unknown waits where that is wanted",
            [
                "an unknown status passes and is counted, or waits if configured",
                "hard: records wait while the responder is away, none is refused or lost",
            ], without: ["revocationHard"]),
        Rule(
            "Responders 2.3", "hard is not begun where nobody could answer",
            [
                "hard is refused with a root that names no responder",
                "hard is accepted with a responder, other modes with any root",
            ]),
        Rule(
            "Responders 2.4", "no record waits forever",
            ["a root's responder stands in, and without any no record waits"]),
        Rule(
            "Responders 3.1", "an answer counts that the issuer or its delegate has signed, in its time",
            [
                "an answer by any other signer is refused", "an answer signed over a weak digest is refused",
                "an answer counts only while it is current",
                "an answer that is out of date before it is given is refused",
                "an answer about another certificate or of another issuer is refused",
                "a flipped bit, a byte more or less changes no status",
            ],
            without: [
                "answerSigner", "answerDigest", "answerAge", "answerFuture", "answerEnd", "answerStatus", "answerOrder",
            ]),
        Rule(
            "Responders 4.1", "nobody is asked at an address that a forgery names, and only by HTTP",
            [
                "a chain that is not trusted is not reported",
                "no responder is asked at an address that a forgery names", "a redirection is not followed",
                "no server means no answer, and only HTTP is used",
            ], without: ["plainHTTP"]),
        Rule(
            "Responders 5.1", "a question is put once in its interval, and never waited for by a record",
            [
                "a question is put once per certificate and interval",
                "a bad or missing answer ends within the deadline", "what follows an answer counts towards its size",
            ], without: ["answerSize"]),
    ]
}
