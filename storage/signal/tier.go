package signal

import "fmt"

// Tier is how durable a record is when its Export is acknowledged.
type Tier uint8

// The tiers, from the strongest.
const (
	Sync     Tier = iota // on disk: the acknowledgement follows an fdatasync that covers it
	Batched              // as Sync, but the group may wait a bounded time for company
	Buffered             // in the operating system's hands; on disk within 250 ms
)

var tiers = [...]string{Sync: "sync", Batched: "batched", Buffered: "buffered"}

// String returns "sync", "batched" or "buffered".
func (t Tier) String() string {
	if int(t) >= len(tiers) {
		return fmt.Sprintf("tier(%d)", uint8(t))
	}
	return tiers[t]
}

// ParseTier is the inverse of Tier.String.
func ParseTier(name string) (Tier, error) {
	for t, n := range tiers {
		if n == name {
			return Tier(t), nil
		}
	}
	return 0, fmt.Errorf("unknown durability %q (want sync, batched or buffered)", name)
}
