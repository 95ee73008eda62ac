import Glibc

/// How every executable ends.
package enum ProcessEnd {
    /// Ends the process at once, with what was printed written out.
    ///
    /// The destructors of libraries do not run, as they do at `exit(3)`: threads that nobody waits
    /// for any more may still be in them. A connection to PostgreSQL that was being made then met
    /// destroyed locks of Kerberos, which aborts the process, after its work was done in order.
    package static func exit(_ code: Int32) -> Never {
        fflush(nil)
        _exit(code)
    }
}
