internal import CRelease

/// The release that all programs of the package belong to.
package enum Release {
    /// The version of the programs, of the verifier's rules, of the image and of the manifests.
    ///
    /// `deploy/CHANGES.md` lists the breaking changes of each version.
    package static let version = "1.4.0"

    /// The number of the last migration in `schemas/postgres`.
    package static let schema = 31

    /// The commit that was built: the value that the variable `ENTITLEMENTS_COMMIT` had for `swift build`; `unknown`
    /// without the variable.
    package static let commit = unsafe String(cString: release_commit())
}
