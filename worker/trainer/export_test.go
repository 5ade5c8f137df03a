package trainer

// For tests outside the package.
var (
	DecodeDescription = decodeDescription
	EncodeDescription = encodeDescription
)
