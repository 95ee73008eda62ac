import KitWrappers
import OpenSSL
import Simulation

/// The present cost of one P-256 verification of OpenSSL on this machine: the unit of the
/// pipeline's figures, which makes them comparable between machines.
enum VerificationUnit {
    /// Measures a verification on one thread for the duration.
    ///
    /// - Returns: microseconds of processor time.
    static func measure(_ authority: CertificateAuthority, for duration: Duration) throws -> Double {
        let key = authority.leafKey.subjectPublicKeyInfo
        // Short, so that its digest costs nothing beside the signature.
        let message = Array("one verification".utf8)
        let signature = try authority.leafKey.sign(message, digest: .sha256)
        return RateMeter.rate(threads: 1, duration: duration) {
            let baseline = VerificationBaseline(subjectPublicKeyInfo: key)
            return { _ in
                let isValid = baseline.verify(der: signature, over: message)
                precondition(isValid, "the benchmark's own signature does not verify")
            }
        }.cpuMicroseconds
    }
}
