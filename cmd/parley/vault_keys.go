package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/seed38e7925c/parley/connect"
)

// vaultKeysCmd is what an operator does with the keys of a server. One of them seals, all open.
type vaultKeysCmd struct {
	List    keysListCmd    `cmd:"" help:"List the keys, without their material."`
	Rotate  keysRotateCmd  `cmd:"" help:"Change the keys in one go: a new one seals, everything is sealed anew, and the old ones are dropped."`
	Add     keysAddCmd     `cmd:"" help:"Add a key that opens and does not seal yet. Copy the file to all machines, then promote it."`
	Promote keysPromoteCmd `cmd:"" help:"Make a key the one that seals."`
	Reseal  keysResealCmd  `cmd:"" help:"Seal everything anew with the key that seals."`
	Drop    keysDropCmd    `cmd:"" help:"Seal everything anew, then remove a key."`
}

// keysFlags name the file alone.
type keysFlags struct {
	Keys string `required:"" env:"PARLEY_KEYS" help:"The file with the server's keys." placeholder:"FILE"`
}

func (f *keysFlags) ring() (*connect.Keys, error) { return (&vaultFlags{Keys: f.Keys}).ring() }

// keysListCmd lists keys.
type keysListCmd struct{ keysFlags }

// Run lists them.
func (c *keysListCmd) Run(s *streams) error {
	keys, err := c.ring()
	if err != nil {
		return err
	}
	all, err := keys.List()
	for _, k := range all {
		does := "opens"
		if k.Primary {
			does = "seals and opens"
		}
		fmt.Fprintf(s.out, "%d  %s\n", k.ID, does)
	}
	return err
}

// keysRotateCmd changes the keys.
type keysRotateCmd struct{ vaultFlags }

// Run changes them.
func (c *keysRotateCmd) Run(ctx context.Context, s *streams) error {
	return c.with(ctx, func(v *connect.Vault) error {
		fmt.Fprintln(s.err, "Servers get a few seconds to notice the new key.")
		n, err := v.Rotate(ctx)
		if err != nil {
			return fmt.Errorf("%w\nNothing is lost: all keys are still there. Run \"parley vault keys rotate\" again", err)
		}
		fmt.Fprintf(s.out, "Sealed anew: %d. The old keys are gone; copies of them open nothing that the store has from now on.\n", n)
		return nil
	})
}

// keysAddCmd adds a key.
type keysAddCmd struct{ keysFlags }

// Run adds it.
func (c *keysAddCmd) Run(ctx context.Context, s *streams) error {
	keys, err := c.ring()
	if err != nil {
		return err
	}
	id, err := keys.Add(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "Added: %d. It opens. Once all machines have the file, run: parley vault keys promote %d\n", id, id)
	return nil
}

// keysPromoteCmd makes a key the one that seals.
type keysPromoteCmd struct {
	keysFlags
	ID uint32 `arg:"" help:"The key, as parley vault keys list names it."`
}

// Run makes it that.
func (c *keysPromoteCmd) Run(ctx context.Context, s *streams) error {
	keys, err := c.ring()
	if err != nil {
		return err
	}
	if err := keys.Promote(ctx, c.ID); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "%d seals now. Once all machines have the file, run: parley vault keys reseal\n", c.ID)
	return nil
}

// keysResealCmd seals everything anew.
type keysResealCmd struct{ vaultFlags }

// Run seals it.
func (c *keysResealCmd) Run(ctx context.Context, s *streams) error {
	return c.with(ctx, func(v *connect.Vault) error {
		n, err := v.Reseal(ctx)
		fmt.Fprintf(s.out, "Sealed anew: %d\n", n)
		return err
	})
}

// keysDropCmd removes a key.
type keysDropCmd struct {
	vaultFlags
	ID uint32 `arg:"" help:"The key, as parley vault keys list names it."`
}

// Run removes it, if nothing needs it any more.
func (c *keysDropCmd) Run(ctx context.Context, s *streams) error {
	keys, err := c.ring()
	if err != nil {
		return err
	}
	all, err := keys.List()
	if err != nil {
		return err
	}
	if err := droppable(all, c.ID); err != nil {
		return err
	}
	return c.with(ctx, func(v *connect.Vault) error {
		if _, err := v.Reseal(ctx); err != nil {
			return fmt.Errorf("the key was not dropped, since not everything could be sealed anew: %w", err)
		}
		if err := keys.Drop(ctx, c.ID); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "Dropped: %d\n", c.ID)
		return nil
	})
}

// droppable says why a key cannot be dropped.
func droppable(all []connect.KeyInfo, id uint32) error {
	for _, k := range all {
		switch {
		case k.ID != id:
		case k.Primary:
			return usageError{errors.New("that key seals: promote another one first")}
		default:
			return nil
		}
	}
	return usagef("there is no key %d; parley vault keys list shows those that there are", id)
}
