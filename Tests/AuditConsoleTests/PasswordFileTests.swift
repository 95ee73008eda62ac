import DeadLetters
import Foundation
import OpenSSL
import TestSupport
import Testing

@testable import AuditConsole
@testable import HTTP

/// The file of users, and its lines.
@Suite(.timeLimit(.minutes(10))) struct PasswordFileTests {
    @Test func `a user who is removed from the file is out at once`() async throws {
        let fixture = try await ConsoleFixture()
        let client = try await fixture.client(as: "otto")
        #expect(try await client.get("/help").status == 200)
        let file = fixture.folder.appending(path: "users")
        let rest = ConsoleFixture.passwordFile.replacing("otto", with: "olga")
        try rest.write(to: file, atomically: true, encoding: .utf8)
        #expect(try await client.get("/help").status == 303)
    }

    @Test func `a user who is removed from a mounted secret is out at once`() async throws {
        let fixture = try await ConsoleFixture()
        let files = FileManager.default
        func path(_ name: String) -> String { fixture.folder.appending(path: name).path(percentEncoded: false) }
        // As Kubernetes does: a link in place of the file, and one to the present version.
        func mount(_ version: String, _ text: String) throws {
            try files.createDirectory(atPath: path(version), withIntermediateDirectories: false)
            try text.write(toFile: path("\(version)/users"), atomically: true, encoding: .utf8)
            try? files.removeItem(atPath: path("..data"))
            try files.createSymbolicLink(atPath: path("..data"), withDestinationPath: version)
        }
        try mount("v1", ConsoleFixture.passwordFile)
        try files.removeItem(atPath: path("users"))
        try files.createSymbolicLink(atPath: path("users"), withDestinationPath: "..data/users")
        let client = try await fixture.client(as: "otto")
        #expect(try await client.get("/help").status == 200)
        try mount("v2", ConsoleFixture.passwordFile.replacing("otto", with: "olga"))
        #expect(try await client.get("/help").status == 303)
    }

    @Test func `a changed password ends the sessions of the former one alone`() async throws {
        let fixture = try await ConsoleFixture()
        let changed = try await fixture.client(as: "otto")
        let other = try await fixture.client(as: "vera")
        let strength = Scrypt(cost: 1 << 14, blockSize: 8, parallelization: 1)
        let hash = try #require(PasswordHash.make("another battery", strength: strength))
        let line = "otto:operator:\(hash.encoded)"
        try ConsoleFixture.passwordFile.replacing(/otto:.*/, with: line).write(
            to: fixture.folder.appending(path: "users"), atomically: true, encoding: .utf8)
        #expect(try await changed.get("/help").status == 303)
        #expect(try await other.get("/help").status == 200)
    }

    @Test func `a password's line is made for the file, and read by it`() throws {
        let hash = try #require(PasswordHash.make("a long enough one"))
        let line = "vera:viewer:\(hash.encoded)"
        let user = try PasswordFile(Array(line.utf8), path: "users").users["vera"]
        #expect(user?.hash == hash)
        #expect(user?.hash.matches("a long enough one") == true)
        #expect(user?.hash.matches("a long enough on") == false)
        #expect(user?.hash.decoy.matches("a long enough one") == false)
    }

    @Test func `a password matches however its accents were typed`() throws {
        let strength = Scrypt(cost: 1 << 14, blockSize: 8, parallelization: 1)
        let composed = "caf\u{e9} au lait, s'il vous pla\u{ee}t"
        let decomposed = "cafe\u{301} au lait, s'il vous plai\u{302}t"
        for (made, typed) in [(composed, decomposed), (decomposed, composed)] {
            let hash = try #require(PasswordHash.make(made, strength: strength))
            #expect(hash.matches(typed) == true)
            #expect(hash.matches(typed + ".") == false)
        }
    }

    @Test func `a user in a text shows no part of the hash`() throws {
        let users = try PasswordFile(Array(ConsoleFixture.passwordFile.utf8), path: "users").users
        let user = try #require(users["otto"])
        for text in ["\(user)", "\(user.hash)", String(reflecting: user)] {
            #expect(!text.contains(Data(user.hash.salt).base64EncodedString()))
            #expect(!text.contains(Data(user.hash.hash).base64EncodedString()))
            #expect(!text.contains("\(user.hash.salt)") && !text.contains("\(user.hash.hash)"))
        }
    }
}
