package sweep

import "testing"

func TestNeedFits(t *testing.T) {
	o := Offer{Devices: []DeviceOffer{
		{Name: "gpu", Model: "NVIDIA A100-SXM4-80GB", Memory: 80 << 30, Count: 4},
		{Name: "gpu", Model: "NVIDIA A30", Memory: 24 << 30, Count: 2},
		{Name: "licence", Count: 3},
	}}
	for _, c := range []struct {
		need Need
		want int64
		text string
	}{
		{Need{GPUs: 1000}, 6, "a GPU"},
		{Need{GPUs: 4000}, 1, "4 GPUs"},
		{Need{GPUs: 7000}, 0, "7 GPUs"},
		{Need{GPUs: 500}, 12, "0.5 of a GPU"},
		{Need{GPUs: 334}, 12, "0.334 of a GPU"},
		{Need{GPUMemory: 8 << 30}, 4*10 + 2*2, "8 GiB of a GPU"}, // a third of 24 GiB is more than 333 thousandths
		{Need{GPUMemory: 30 << 30}, 4 * 2, "30 GiB of a GPU"},
		{Need{GPUs: 1000, GPUMemory: 40 << 30}, 4, "a GPU with 40 GiB"},
		{Need{GPUs: 2000, GPUModel: "a100*"}, 2, "2 GPUs a100*"},
		{Need{GPUs: 1000, GPUModel: "*h100*"}, 0, "a GPU *h100*"},
		{Need{Devices: map[string]int64{"licence": 2}}, 1, "2 licence"},
		{Need{GPUs: 1000, Devices: map[string]int64{"licence": 1}}, 3, "a GPU, 1 licence"},
		{Need{Devices: map[string]int64{"port": 1}}, 0, "1 port"},
	} {
		if got := o.Fits(&c.need); got != c.want || c.need.String() != c.text {
			t.Errorf("%s: room for %d, want %d of %s", &c.need, got, c.want, c.text)
		}
	}
	without := Offer{Trainers: []TrainerOffer{{Name: "script"}}}
	silent := Requirement{Trainer: ScriptTrainer}
	if !silent.MayUseGPUs() || without.Holding(PresumedNeed()) != nil || o.Holding(PresumedNeed()) == nil ||
		o.Holding(&Need{}) != nil || !without.Meets(&silent) {
		t.Error("a trial whose file says nothing holds a GPU only where there is one")
	}
	r := Requirement{Trainer: ScriptTrainer, Need: &Need{GPUs: 1000}}
	if why := r.Unmet("cpu", []Offer{without}); why != "a trial needs a GPU on one machine; 1 worker has no devices" {
		t.Error(why)
	}
	key := without.Key()
	if without.Devices = o.Devices; without.Key() == key {
		t.Error("devices do not change the key of an offer")
	}
}

func TestNeedCheck(t *testing.T) {
	for _, n := range []Need{{GPUs: 1500}, {GPUs: -1}, {GPUMemory: -1}, {GPUModel: "["}, {Devices: map[string]int64{"a": 0}}} {
		if n.Check() == nil {
			t.Errorf("%+v is accepted", n)
		}
	}
	for _, n := range []Need{{}, {GPUs: 1}, {GPUs: 8000}, {GPUModel: "A100*"}} {
		if err := n.Check(); err != nil {
			t.Error(err)
		}
	}
}
