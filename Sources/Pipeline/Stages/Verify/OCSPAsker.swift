import OpenSSL
import Threads

/// Requests certificates' status from responders, one after the other, on a separate thread.
actor OCSPAsker {
    private let executor = ThreadExecutor(name: "ocsp")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Maximum addresses tried for a subject.
    private static let addressesMax = 3
    /// Maximum bytes of an answer; one with a responder's certificate has about 2 KiB.
    private static let answerBytesMax = 64 << 10

    /// Asks at the subject's addresses until one returns a valid answer.
    func ask(about subject: RevocationBook.Subject, deadlineSeconds: Int, now: @Sendable () -> Int64) -> Result<
        OCSPAnswer, OCSPError
    > {
        var fault = OCSPError(.notAsked, "neither the certificate nor its root names a responder")
        for address in subject.responders.prefix(Self.addressesMax) {
            do throws(OCSPError) {
                let question = try OCSPQuestion(about: subject.certificate, issuedBy: subject.issuer)
                let answer = try OCSPResponder.ask(
                    question, at: address, deadlineSeconds: deadlineSeconds, answerBytesMax: Self.answerBytesMax)
                return .success(
                    try OCSPAnswer(der: answer, about: subject.certificate, issuedBy: subject.issuer, at: now()))
            } catch { fault = error }
        }
        return .failure(fault)
    }
}
