package block

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// The sums lie right before the footer:
//
//	 0           4                    4n          4n+4
//	┌───────────┬───────────┬── … ──┬───────────┬───────────┐
//	│ CRC-32C   │ CRC-32C   │       │ n         │ CRC-32C   │ footer …
//	└───────────┴───────────┴── … ──┴───────────┴───────────┘
//	  of a message's metadata, then     uint32    of all sums, n and
//	  of each of its buffers; of the              the footer
//	  next message; and so on; a zero
//	  when that makes n even
//
// The messages are the dictionaries and then the row groups, both in the order of the footer.
const sumsEnd = 8

var errSum = errors.New("checksum mismatch")

// appendSum appends the CRC-32C of b.
func appendSum(dst, b []byte) []byte {
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(b, castagnoli))
}

// appendSums appends the whole part of the file that the sums are.
func appendSums(dst, sums, footer []byte) []byte {
	at := len(dst)
	dst = append(dst, sums...)
	if len(sums)&4 != 0 {
		dst = append(dst, zeros[:4]...)
	}
	dst = binary.LittleEndian.AppendUint32(dst, uint32((len(dst)-at)/4))
	return binary.LittleEndian.AppendUint32(dst, crc32.Update(crc32.Checksum(dst[at:], castagnoli), castagnoli, footer))
}

// checkSum compares b with sum i. sums has it.
func checkSum(sums []byte, i int, b []byte) error {
	if crc32.Checksum(b, castagnoli) != binary.LittleEndian.Uint32(sums[4*i:]) {
		return errSum
	}
	return nil
}
