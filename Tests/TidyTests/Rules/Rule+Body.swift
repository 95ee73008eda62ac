extension Rule {
    private static let inOrder = [
        "the first rule broken, in their order, is the reason",
        "of any two rules broken at once the earlier is the reason",
    ]

    private static let outerFirst = "the outer JWS is checked before the inner, and items before claims"

    static let order: [Rule] = [
        Rule("Order 1.1", "the first rule broken is the reason", inOrder),
        Rule("Order 1.2", "the body, each JWS, the body again", [outerFirst] + inOrder),
        Rule("Order 1.3", "the outer JWS first", [outerFirst, "one bad item refuses the whole body"]),
        Rule(
            "Order 1.4", "nothing goes on before all of it has passed",
            ["one bad item refuses the whole body", "each bad record is a dead letter with its reason, byte for byte"]),
        Rule(
            "Order 1.5", "what nobody has signed is not interpreted",
            ["an unsigned payload is forged, whatever it states"] + inOrder, without: ["signatureBeforePayload"]),
        Rule(
            "Order 2.1", "a receipt likewise", ["a chain with one defect is refused for it", "every reason is reached"]),
    ]

    static let steps: [Rule] =
        [
            Rule("Steps 1.1", "the body's size", inOrder, without: ["bodySize"]),
            Rule(
                "Steps 4.1", "the number of items", ["too many items are reported before an unknown shape"] + inOrder,
                without: ["itemsCount", "itemsOfStatuses", "itemsOfHistory", "itemsOfNotifications"]),
            Rule(
                "Steps 9.1", "a pinned root or one of the apps' own, before any signature is computed",
                [
                    "an authority that copies all of Apple's names is not trusted",
                    "the third certificate is not believed under a configured root",
                    "C8 testEmptyRootCertificateList: no custom root means Apple's pins",
                    "Apple's root of receipts vouches for no JWS, even as a custom root",
                ], without: ["anchorNamed", "pin", "otherFamily"]),
            Rule("Steps 18.1", "its items among each other", [outerFirst]),
        ] + (1...19).map { Rule("Steps \($0).1", "its place in the list", inOrder) }

    static let recognition: [Rule] = [
        Rule(
            "Recognition 1.1", "whitespace around it is not counted",
            ["whitespace around a bare JWS or an object is ignored", "whitespace around a bare receipt is ignored"]),
        Rule(
            "Recognition 1.2", "null and empty are no body, and not the same",
            [
                "null and empty are distinguished",
                "a record's own fault is dead-lettered with its bytes, null apart from empty",
            ]),
        Rule(
            "Recognition 1.3", "what JSON begins with",
            ["each shape of a body is recognised or refused", "a byte order mark marks JSON, which is refused"],
            without: ["byteOrderMark"]),
        Rule(
            "Recognition 1.4", "what a JWS looks like",
            ["each shape of a body is recognised or refused", "each of the four kinds is accepted as a bare JWS"],
            without: ["segmentAlphabet"]),
        Rule(
            "Recognition 1.5", "what a receipt looks like",
            ["each shape of a body is recognised or refused", "genuine receipts are recognised, bare and posted"],
            without: ["receiptAlphabet"]),
        Rule(
            "Recognition 1.6", "what a receipt of iOS 6 looks like",
            ["a receipt in the style of iOS 6 is recognised in every wrapping"],
            without: ["legacyBase64", "legacyList"]),
        Rule(
            "Recognition 1.7", "all else is not known",
            ["each shape of a body is recognised or refused", "random bytes end in a refusal"]),
    ]

    static let envelope: [Rule] = [
        Rule(
            "Envelope 1.1", "strict JSON: one encoding, no doubled key, no odd text, not too deep",
            [
                "each shape of a body is recognised or refused", "a byte order mark marks JSON, which is refused",
                "JSON is at most 64 levels deep", "a doubled key is refused at every level, in whatever spelling",
                "10,000 levels in envelope, header and payload are refused",
                "invalid UTF-8 in envelope, header and payload is refused",
                "doubled keys are refused in header, payload and envelope",
                "keys that are equal once decoded are doubled", "an object of 100,000 members is checked in good time",
                "invalid documents do not parse", "a depth of 64 is accepted and one more is not",
                "what the specification leaves open is decided once",
                "the policy refuses only what two readers could understand differently",
                "keys and values count against the limit of nodes",
            ],
            without: [
                "envelopeForm", "jsonDepth", "jsonDoubledKey", "jsonDoubledHashedKey", "jsonNUL", "jsonLoneSurrogate",
                "jsonUTF8", "jsonControlCharacter", "jsonByteOrderMark", "jsonTrailingBytes", "jsonDepthExceeded",
                "jsonNodesExceeded", "jsonLeadingZero",
            ]),
        Rule("Envelope 1.2", "unknown fields are free", ["unknown fields, any key order and whitespace are accepted"]),
        Rule(
            "Envelope 1.3", "order and whitespace are free",
            ["unknown fields, any key order and whitespace are accepted"]),
        Rule(
            "Envelope 2.1", "one shape, and a known one",
            ["each shape of a body is recognised or refused", "a list of bodies is refused, and the detail says why"],
            without: ["oneShape", "bodyObject"]),
        Rule("Envelope 2.2", "lists of JWS hold nothing else", ["each shape of a body is recognised or refused"]),
        Rule(
            "Envelope 3.1", "no whitespace around a token in JSON", ["a token inside JSON has no whitespace around it"]),
        Rule(
            "Envelope 4.1", "an item is what its field says, and of one kind",
            [
                "payload kinds are distinguished, and not mixed",
                "a payload that is not an object is refused with a detail",
            ], without: ["kindOfPlace", "oneKind", "payloadObject"]),
        Rule(
            "Envelope 5.1", "what is claimed unsigned equals what is signed",
            [
                "claims beside a signed transaction", "a claim is 1 to 255 bytes without control characters",
                "the unsigned fields of an API response are claims", "an empty claim contradicts an empty signed field",
                "an app's number beside an app transaction or a notification is compared",
                "claims beside a receipt must be true of it and of one purchase in it",
            ],
            without: [
                "claims", "claimsOfEnvelope", "claimsOfItem", "claimsOfReceipt", "claimKind", "claimEmpty", "claimNull",
                "claimLengthMin", "claimLengthMax",
            ]), Rule("Envelope 5.2", "compared as bytes", ["claims are compared as bytes"]),
        Rule("Envelope 6.1", "an empty response is ignored", ["a response without items is ignored"]),
        Rule(
            "Envelope 6.2", "items are independent, a pair is of one purchase",
            [
                "a history is independent purchases, in order", "transaction and renewal info are of one purchase",
                "a renewal info of another root does not join a transaction",
            ], without: ["itemPurchase", "pairEnvironment", "pairTrust"]),
        Rule(
            "Envelope 6.3", "what is in a notification agrees with it",
            [
                "the items of a notification have its app and environment",
                "transaction and renewal info are of one purchase",
            ], without: ["itemBundle", "itemEnvironment"]),
        Rule(
            "Envelope 6.4", "null inside is absent, empty is not",
            [
                "a null inside a notification is absent, an empty text is not",
                "a notification with an item that is not text is refused",
                "a body that cannot be read may hold a purchase",
            ], without: ["innerItems", "innerAppTransaction", "unreadableBody"]),
        Rule(
            "Envelope 6.5", "without a transaction a notification is history",
            ["a notification without a transaction is history, whatever its type"]),
        Rule(
            "Envelope 7.1", "a Retention Messaging request is known for what it is",
            ["M10 the detail explains a realtime request"], without: ["retentionMessaging"]),
    ]
}
