// Package device finds the GPUs and other countable devices of a machine, and leases them to trials. Its main type is
// Pool:
//
//	machine, err := device.Find(ctx, device.Choice{Auto: true})
//	pool := device.NewPool(machine, device.Options{})
//	lease := pool.Take(need, slot) // nil while too few devices are free
//	defer lease.Release()
//	cmd.Env = append(cmd.Env, lease.Variables()...)
//
// A device is given to a trial only when the device's own figures show it free: a process of somebody else, or of a
// trial that has ended, keeps it from being given. Parts of a GPU are thousandths of one card. A device is locked by a
// file for as long as a trial of this process holds it, so that several people's runs share a machine.
//
// It uses what the drivers bring (nvidia-smi, the kernel's files of AMD) and links nothing.
package device
