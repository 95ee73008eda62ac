/// Work in a stage's database that no record asks for, such as projecting anew by another catalog.
///
/// The loop gives the occasions from its start to its end, one at a time, also while no record
/// comes and while the worker owns no partition. Every copy of a worker does so: who keeps up sees
/// to it that they do not do the same at once.
package protocol Upkeep: Sendable {
    /// Waits until there may be something to do: for news, or for a while.
    ///
    /// Returns within about a second: the end of the worker waits for it.
    func waitForOccasion() async throws

    /// Does what there is to do.
    ///
    /// Throwing means a fault of the infrastructure: there is another occasion after a while.
    func work() async throws

    /// Gives up what this copy holds, so that another need not wait for it.
    func close() async
}
