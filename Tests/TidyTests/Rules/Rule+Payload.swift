extension Rule {
    static let payload: [Rule] = [
        Rule(
            "Payload 1.1", "what makes a transaction one",
            [
                "a transaction needs its fields, each of its type", "an identifier of 256 bytes is absent",
                "header and payload are read as strictly as the envelope",
                "one member that the strict reader refuses refuses the payload",
            ],
            without: [
                "requiredFields", "identifierLength", "payloadForm", "identifierLengthMin", "identifierLengthMax",
                "requiredTransactionID", "requiredOriginalTransactionID", "requiredEnvironment", "requiredProduct",
                "requiredPurchaseDate",
            ]),
        Rule(
            "Payload 1.2", "not too deep for the observation that embeds it",
            [
                "a payload is at most 48 levels deep, and then every later stage reads it",
                "a payload of as many values as are allowed is read by every later stage",
            ], without: ["payloadBounds", "payloadDepth"]),
        Rule(
            "Payload 1.3", "an absent bundle ID is found by its detail",
            ["a payload without a bundle ID is found by its detail"], without: ["absentBundle"]),
        Rule(
            "Payload 1.4", "what renewal info and notifications have to have",
            ["a renewal info needs its purchase, and a notification its type"],
            without: ["requiredOfRenewal", "requiredNotificationType"]),
        Rule(
            "Payload 2.1", "odd fields are carried, not believed, and counted",
            [
                "a field of a wrong type or value is absent and counted", "numbers beyond any machine type are carried",
                "an explicit null is absent and not a fault", "M13 a field of a wrong type is carried and counted",
                "a payload travels in the bytes that Apple signed",
            ]),
        Rule(
            "Payload 2.2", "an unknown product type grants by the catalog, or as a subscription to its end",
            ["an unknown product type keeps its name", "a type unknown to this version grants nothing, and is counted"]),
        Rule(
            "Payload 2.3", "the nil UUID is no account token",
            [
                "the nil UUID is neither an account token nor a fault", "the nil UUID cannot be linked as a token",
                "the nil UUID is no token that a link could name",
            ], without: ["placeholderToken", "placeholderIsNoFault"]),
        Rule(
            "Payload 3.1", "configured environments and no other",
            [
                "it is accepted only for its own app and environment", "every reason is reached",
                "a root vouches for its own app and environment, cold and warm",
            ], without: ["environment", "bundle", "appAnchor"]),
        Rule(
            "Payload 3.2", "the app's number in Production", ["the app's number counts in Production only"],
            without: ["appAppleID"]),
        Rule(
            "Payload 4.1", "renewal info alone makes no purchase",
            [
                "a renewal info alone needs a root of its environment",
                "renewal info of another trust belongs to no purchase",
                "a tokenless renewal before its purchase gets an owner with the purchase",
            ], without: ["renewalAnchor"]),
        Rule(
            "Payload 5.1", "a notification is of the app that one of its objects names",
            [
                "a notification with a body of another name is of the app that the body names",
                "a new kind of another app, number or environment is misrouted as any other",
                "a documented body decides before any other object",
                "a purchase in a body of another name is a purchase",
                "no genuine body of next year is refused, and each item becomes facts",
            ], without: ["newBody", "newBodyNumber", "newBodyForeign", "newBodyPurchases", "documentedBodyFirst"]),
        Rule(
            "Payload 5.2", "without a named app it is ignored, and costs nothing inside it",
            [
                "a notification that names no app is ignored for its own reason",
                "the purchases inside a notification that names no app are forwarded",
                "a notification that names no app affects no other of its page",
            ], without: ["newBodyEnvironment"]),
        Rule(
            "Payload 5.3", "an unknown kind costs no other item",
            [
                "an item of an unknown kind affects no other item of its response",
                "an unknown kind is left out of a paged notification, and refused in a single one",
                "no genuine body of next year is refused, and each item becomes facts",
            ], without: ["unknownKindOfPage", "unknownKindOfHistory", "unknownKindForeign"]),
        Rule(
            "Payload 5.4", "alone it waits as a dead letter", ["an unknown kind by itself becomes a dead letter"],
            without: ["unknownKindAlone"]),
        Rule(
            "Payload 5.5", "new kinds are counted",
            [
                "a notification that names no app affects no other of its page",
                "new kinds are counted by their outcome, and delay nothing",
            ], without: ["unknownKindCount"]),
    ]

    static let local: [Rule] = [
        Rule(
            "Xcode and local testing 1.1", "an entry names the certificate",
            [
                "Xcode and LocalTesting are verified against their own certificate",
                "all problems of the entries are reported at once",
            ]),
        Rule(
            "Xcode and local testing 1.2", "one certificate, that very one, in its window",
            [
                "another certificate is refused before its signature is looked at",
                "its window has to hold the signed date", "Xcode's chain has one or three certificates",
            ], without: ["localCertificate"]),
        Rule(
            "Xcode and local testing 1.3", "all else as ever",
            [
                "Xcode and LocalTesting are verified against their own certificate",
                "alg none is refused everywhere, Xcode's included",
            ]),
        Rule(
            "Xcode and local testing 1.4", "without an entry it is no chain",
            [
                "a single certificate without an entry for Xcode is refused", "another certificate vouches for nothing",
                "a local certificate ends no chain, and a chain's root signs nothing by itself",
            ], without: ["localEntry"]),
        Rule(
            "Xcode and local testing 2.1", "fractions are rounded down and carried",
            ["X2 transaction, with fractional dates rounded down", "fractional dates round down"]),
        Rule(
            "Xcode and local testing 3.1", "its receipts likewise",
            [
                "its receipts are verified against the certificate exported from it",
                "without such an entry, or with another certificate, they are refused",
                "its window holds the creation date, and its key is RSA",
            ]),
    ]
}
