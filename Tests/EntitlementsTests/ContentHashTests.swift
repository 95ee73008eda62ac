import Entitlements
import JSON
import OpenSSL
import Testing

struct ContentHashTests {
    @Test(arguments: [
        (#"{"b":2,"a":1}"#, #"{"a":1,"b":2}"#), (#"{"a":1,"signedDate":5}"#, #"{"a":1}"#),
        (#"{"deviceVerification":"x","a":1,"deviceVerificationNonce":"y"}"#, #"{"a":1}"#),
        (#" { "a" : 1 , "b" : [ 1, 2 ] } "#, #"{"b":[ 1, 2 ],"a":1}"#), (#"{"signed\u0044ate":5}"#, "{}"),
    ]) func `order, spaces and the date of signing do not count`(left: String, right: String) throws {
        #expect(try Self.hash(left) == Self.hash(right))
    }

    @Test(arguments: [
        (#"{"a":1}"#, #"{"a":1.0}"#), (#"{"a":1}"#, #"{"a":1,"b":null}"#), (#"{"a":"x"}"#, #"{"a":"\u0078"}"#),
        (#"{"a":{"signedDate":1}}"#, #"{"a":{"signedDate":2}}"#), (#"{"ab":1}"#, #"{"a":"b"}"#),
        (#"{"signedDates":1}"#, "{}"),
    ]) func `a value's original bytes count`(left: String, right: String) throws {
        #expect(try Self.hash(left) != Self.hash(right))
    }

    @Test func `the content hash is the SHA-256 of the sorted members`() throws {
        let sorted = #"{"a":1,"aa":[true],"b":"x"}"#
        #expect(try Self.hash(#"{"b":"x","signedDate":1,"aa":[true],"a":1}"#) == SHA256.digest(Array(sorted.utf8)))
    }

    @Test(arguments: [
        // Names that begin alike, and one that is the beginning of the others.
        (
            #"{"originalTransactionId":1,"originalPurchaseDate":2,"original":3}"#,
            #"{"original":3,"originalPurchaseDate":2,"originalTransactionId":1}"#
        ),
        // A name is sorted by its decoded bytes, but hashed as written.
        (#"{"c":1,"\u0062":2,"a":3}"#, #"{"a":3,"\u0062":2,"c":1}"#), (#"{"é":1,"z":2}"#, #"{"z":2,"é":1}"#),
    ]) func `members are sorted by the bytes of their decoded names`(payload: String, sorted: String) throws {
        #expect(try Self.hash(payload) == SHA256.digest(Array(sorted.utf8)))
    }

    @Test func `a payload inside a larger document hashes as it does alone`() throws {
        let payload = #"{"b":2,"a":1}"#
        let outer = try Sample.json(#"{"source":{"x":1},"transaction":\#(payload)}"#)
        let inner = try #require(outer["transaction"])
        #expect(ContentHash.of(inner) == (try Self.hash(payload)))
    }

    private static func hash(_ text: String) throws -> SHA256Digest { ContentHash.of(try Sample.json(text)) }
}
