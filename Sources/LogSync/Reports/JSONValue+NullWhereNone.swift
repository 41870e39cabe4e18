extension JSONValue {
    /// An optional whose key is always there in JSON: null where there is none, so that a script need not ask for the key.
    @propertyWrapper
    public struct NullWhereNone<Value: Encodable & Sendable>: Encodable, Sendable {
        public var wrappedValue: Value?

        public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

        public func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(wrappedValue)
        }
    }
}
