import JSON
package import OpenSSL

/// An API key as it is registered in App Store Connect.
package struct AppleAPIKey: Sendable {
    package let id: String
    package let issuerID: String
    package let bundleIDs: Set<String>
    let publicKey: P256PublicKey

    /// - Parameter key: on P-256.
    package init(id: String, issuerID: String, bundleIDs: Set<String>, key: PrivateKey) throws(KeyError) {
        guard let publicKey = key.p256PublicKey else { throw .notP256 }
        self.id = id
        self.issuerID = issuerID
        self.bundleIDs = bundleIDs
        self.publicKey = publicKey
    }
}

/// The reason for which Apple's server refuses the token of a request.
///
/// Apple answers 401 without a reason.
package enum AppleTokenFault: String, Error, Sendable {
    /// The request has no `Authorization: Bearer`.
    case missing
    /// The token is not three segments of base64url and JSON, or is not ES256.
    case malformed
    case unknownKey
    case badSignature
    case wrongIssuer
    case wrongAudience
    /// The claim `bid` names no app of the key's.
    case wrongApp
    /// The claim `iat` or `exp` is missing, or more than an hour lies between them.
    case badLifetime
    case notYetValid
    case expired
}

/// The JWT by which a client of the App Store Server API names itself.
enum AppleToken {
    private static let lifetimeMax: Int64 = 3_600

    /// The bundle ID of a token that is in order.
    ///
    /// - Parameters:
    ///   - authorization: the header field's value.
    ///   - keys: by their ID.
    ///   - now: in milliseconds since 1970.
    static func bundleID(of authorization: String?, keys: [String: AppleAPIKey], now: Int64) throws(AppleTokenFault)
        -> String
    {
        let scheme = "Bearer "
        guard let authorization, authorization.hasPrefix(scheme) else { throw .missing }
        guard let jwt = UnverifiedJWS(Array(authorization.utf8.dropFirst(scheme.utf8.count))),
            jwt.header["alg"]?.isString("ES256") == true, jwt.header["typ"]?.isString("JWT") == true
        else { throw .malformed }
        guard let key = jwt.header["kid"]?.string.flatMap({ keys[$0] }) else { throw .unknownKey }
        let verifier = P256Verifier(key: key.publicKey)
        guard verifier.verify(signature: jwt.signature, over: jwt.signedBytes) == .valid else { throw .badSignature }
        let claims = jwt.payload
        guard claims["iss"]?.isString(key.issuerID) == true else { throw .wrongIssuer }
        guard claims["aud"]?.isString("appstoreconnect-v1") == true else { throw .wrongAudience }
        guard let bundleID = claims["bid"]?.string, key.bundleIDs.contains(bundleID) else { throw .wrongApp }
        guard let issued = claims["iat"]?.int64, let expiry = claims["exp"]?.int64,
            (issued...issued + lifetimeMax).contains(expiry)
        else { throw .badLifetime }
        guard issued * 1_000 <= now else { throw .notYetValid }
        guard now < expiry * 1_000 else { throw .expired }
        return bundleID
    }
}
