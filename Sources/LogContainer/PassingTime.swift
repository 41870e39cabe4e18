/// Sources of the time that has passed, for whoever needs no date.
package enum PassingTime {
    private static let start = ContinuousClock.now

    /// Since this process first asked, time asleep included.
    package static let machine: @Sendable () -> Duration = { start.duration(to: .now) }
}
