package era

type Revision uint8

const (
	R20241105 Revision = iota + 1
	R20250326
	R20250618
	R20251125
	R20260728
)

func (r Revision) Modern() bool { return r >= R20260728 }
