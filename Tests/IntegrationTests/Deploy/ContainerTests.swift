import Testing

/// The image of `deploy/container`, which the scripts beside it build and run.
@Suite struct ContainerTests {
    @Test func `the image holds the workers and the two tools`() throws {
        let file = try DeployedProgram.text(of: "deploy/container/Containerfile")
        let programs = try DeployedProgram.known.get()
        let wanted = [
            "dead-letter", "dedupe-worker", "entitle-worker", "link-worker", "pipeline", "recovery-worker",
            "verify-worker",
        ]
        #expect(programs.sorted() == wanted)
        #expect(file.contains("\nUSER 10001:10001\n") && file.contains("\nFROM scratch\n"))
        for base in file.matches(of: /ARG \w+_BASE=(\S+)/).map({ String($0.1) }) {
            // A tag of one version, or a digest of the files.
            let isPinned = base.contains("@sha256:") || base.contains(/:\d+\.\d+\.\d+-/)
            #expect(isPinned, "\(base)")
        }
    }
}
