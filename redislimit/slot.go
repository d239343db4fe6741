package redislimit

import "strings"

// slots is how many a cluster has.
const slots = 1 << 14

// slotOf returns the slot in which a cluster has a key: the CRC-16/XMODEM of its hash
// tag, or of all of it, as the Redis cluster specification says.
func slotOf(key string) int {
	_, tag, _ := strings.Cut(key, "{")
	if tag, _, ok := strings.Cut(tag, "}"); ok && tag != "" {
		key = tag
	}
	sum := uint16(0)
	for i := range len(key) {
		sum = sum<<8 ^ crc16[byte(sum>>8)^key[i]]
	}
	return int(sum % slots)
}

// crc16 is what each byte does to a sum.
var crc16 = func() (table [256]uint16) {
	for i := range table {
		sum := uint16(i) << 8
		for range 8 {
			if sum&0x8000 != 0 {
				sum = sum<<1 ^ 0x1021
			} else {
				sum <<= 1
			}
		}
		table[i] = sum
	}
	return table
}()
