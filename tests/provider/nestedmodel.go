package main

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// converter translates between a nested resource's plan and its file; what goes wrong on the way gathers in the diagnostics.
type converter struct {
	ctx         context.Context
	diagnostics *diag.Diagnostics
}

// object reads a plan, and chooses where the plan leaves the choice to the provider.
func (c converter) object(plan nestedModel) nestedObject {
	object := nestedObject{Name: plan.Name.ValueString()}

	if !plan.Owner.IsNull() {
		var owner ownerModel
		c.diagnostics.Append(plan.Owner.As(c.ctx, &owner, objectAsOptions)...)
		name := owner.Name.ValueString()
		object.Owner = &ownerObject{Name: name, Email: chosen(owner.Email, name+"@example.test"), Key: owner.Key.ValueStringPointer()}
	}

	var disks []diskModel
	c.diagnostics.Append(plan.Disks.ElementsAs(c.ctx, &disks, false)...)
	object.Disks = convertList(plan.Disks.IsNull(), disks, func(disk diskModel) diskObject {
		var partitions []partitionModel
		c.diagnostics.Append(disk.Partitions.ElementsAs(c.ctx, &partitions, false)...)
		return diskObject{
			Size:  disk.Size.ValueInt64(),
			Label: disk.Label.ValueString(),
			Partitions: convertList(disk.Partitions.IsNull(), partitions, func(partition partitionModel) string {
				return partition.Path.ValueString()
			}),
		}
	})

	var mounts []mountModel
	c.diagnostics.Append(plan.Mounts.ElementsAs(c.ctx, &mounts, false)...)
	object.Mounts = convertList(plan.Mounts.IsNull(), mounts, func(mount mountModel) mountObject {
		return mountObject{Path: mount.Path.ValueString(), Mode: chosen(mount.Mode, "rw")}
	})

	if !plan.Zones.IsNull() {
		zones := map[string]zoneModel{}
		c.diagnostics.Append(plan.Zones.ElementsAs(c.ctx, &zones, false)...)
		object.Zones = map[string]zoneObject{}
		for key, zone := range zones {
			object.Zones[key] = zoneObject{Weight: zone.Weight.ValueInt64Pointer()}
		}
	}
	return object
}

// model shows an object with all that the provider computes.
func (c converter) model(object nestedObject) *nestedModel {
	model := &nestedModel{
		ID:    types.StringValue(object.ID),
		Name:  types.StringValue(object.Name),
		Owner: types.ObjectNull(ownerTypes),
		Status: c.objectValue(statusTypes, statusModel{
			Phase:    types.StringValue("ready"),
			Revision: types.Int64Value(object.Revision),
		}),
	}

	if owner := object.Owner; owner != nil {
		model.Owner = c.objectValue(ownerTypes, ownerModel{
			Name:   types.StringValue(owner.Name),
			Email:  types.StringValue(owner.Email),
			Key:    types.StringPointerValue(owner.Key),
			Number: types.Int64Value(int64(len(owner.Name))),
		})
	}

	position := 0
	model.Disks = c.listValue(diskType, convertList(object.Disks == nil, object.Disks, func(disk diskObject) diskModel {
		position++
		return diskModel{
			Size:   types.Int64Value(disk.Size),
			Label:  types.StringValue(disk.Label),
			Serial: types.StringValue(fmt.Sprintf("%s/disk-%d", object.ID, position)),
			Partitions: c.listValue(partitionType, convertList(disk.Partitions == nil, disk.Partitions, func(path string) partitionModel {
				return partitionModel{Path: types.StringValue(path), UUID: types.StringValue("uuid-of-" + path)}
			})),
		}
	}))

	mounts, diagnostics := types.SetValueFrom(c.ctx, mountType, convertList(object.Mounts == nil, object.Mounts, func(mount mountObject) mountModel {
		return mountModel{
			Path:   types.StringValue(mount.Path),
			Mode:   types.StringValue(mount.Mode),
			Ticket: types.StringValue("ticket-for-" + mount.Path),
		}
	}))
	c.diagnostics.Append(diagnostics...)
	model.Mounts = mounts

	var zones map[string]zoneModel
	if object.Zones != nil {
		zones = map[string]zoneModel{}
	}
	for key, zone := range object.Zones {
		zones[key] = zoneModel{Weight: types.Int64PointerValue(zone.Weight), Address: types.StringValue(key + ".example.test")}
	}
	model.Zones, diagnostics = types.MapValueFrom(c.ctx, zoneType, zones)
	c.diagnostics.Append(diagnostics...)
	return model
}

func (c converter) objectValue(members map[string]attr.Type, model any) types.Object {
	object, diagnostics := types.ObjectValueFrom(c.ctx, members, model)
	c.diagnostics.Append(diagnostics...)
	return object
}

func (c converter) listValue(element attr.Type, models any) types.List {
	list, diagnostics := types.ListValueFrom(c.ctx, element, models)
	c.diagnostics.Append(diagnostics...)
	return list
}

// convertList keeps the difference between null (nil) and empty.
func convertList[From, To any](null bool, from []From, convert func(From) To) []To {
	if null {
		return nil
	}
	to := make([]To, 0, len(from))
	for _, element := range from {
		to = append(to, convert(element))
	}
	return to
}

// chosen is the program's value, or the provider's where the program was silent and the plan therefore unknown.
func chosen(planned types.String, fallback string) string {
	if planned.IsNull() || planned.IsUnknown() {
		return fallback
	}
	return planned.ValueString()
}
