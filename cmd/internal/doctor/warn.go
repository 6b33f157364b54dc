package doctor

import (
	"fmt"

	"mira/cmd/internal/corpus"
)

// tiny is how much free space is too little to be left alone with: a log and a few blocks.
const tiny = 4 << 30

// warnings names what is set up so that mira cannot do well, or not at all.
func warnings(r *Report) []string {
	var list []string
	warn := func(wrong bool, format string, args ...any) {
		if wrong {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	b, d := r.Box, r.Disk
	warn(d.volume.Network, "%s is on a network file system (%s): the server refuses it, because an fsync there does not say that data is safe; use a local disk", d.Dir, d.FileSystem)
	warn(d.volume.Fuse, "%s is on FUSE: durability is what that program makes of fsync", d.Dir)
	warn(d.volume.Volatile, "%s is in memory (%s): nothing survives a power cut", d.Dir, d.FileSystem)
	warn(d.FileSystem == "overlay", "%s is in a container's own layer (overlay) and goes away with the container; mount a volume", d.Dir)
	grows := r.Prediction.Records * r.CPU.BlockBytes
	warn(d.Free < tiny, "%s has only %s left: at the full rate that is full in %.0f s", d.Dir, size(float64(d.Free)), float64(d.Free)/max(1, grows))
	warn(b.Quota > 0 && b.Quota < 1, "the control group grants %.2g of one CPU: the server stands still for the rest of each period, and acknowledgements with it; grant one or more", b.Quota)
	warn(b.Quota >= 1 && b.Quota < float64(b.Cores), "the control group grants %.3g of %d CPUs and the server runs %d threads of Go all the same: expect pauses; set the CPU affinity (cpuset) instead of a quota", b.Quota, b.Cores, b.Procs)
	warn(b.IngestMemory > b.Memory/2, "--ingest-memory would be %s of %s: set it to %s", size(float64(b.IngestMemory)), size(float64(b.Memory)), size(float64(max(b.Memory/4, 64<<20))))
	warn(b.Others > 0.1*float64(b.Cores), "other programs used %.1f of %d cores meanwhile: what they go on using is missing from the figure above", b.Others, b.Cores)
	warn(r.CPU.Requests < corpus.Distinct, "only %d different requests were encoded in the time: the codec figures are rough; raise --seconds", r.CPU.Requests)
	return list
}
