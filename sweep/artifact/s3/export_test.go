package s3

import "time"

// SetSilence sets how long the service may take to answer.
func (b *Bucket) SetSilence(d time.Duration) { b.silence = d }
