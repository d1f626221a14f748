// Package v1beta1 declares the types of frr-k8s that MetalLB's packages name. MetalLB's controller never reads or writes such an object.
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// AddToScheme registers nothing.
func AddToScheme(*runtime.Scheme) error { return nil }

type FRRConfiguration struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Spec FRRConfigurationSpec
}

func (c *FRRConfiguration) DeepCopy() *FRRConfiguration { panic("frr-k8s is not part of this build") }
func (c *FRRConfiguration) DeepCopyObject() runtime.Object {
	panic("frr-k8s is not part of this build")
}
func (s *FRRConfigurationSpec) DeepCopyInto(*FRRConfigurationSpec) {
	panic("frr-k8s is not part of this build")
}

type FRRConfigurationSpec struct {
	NodeSelector metav1.LabelSelector
	BGP          BGPConfig
}

type BGPConfig struct {
	Routers     []Router
	BFDProfiles []BFDProfile
}

type Router struct {
	ASN       uint32
	ID        string
	VRF       string
	Neighbors []Neighbor
	Prefixes  []string
}

type DynamicASNMode string

type SecretReference struct {
	Name      string
	Namespace string
}

type Neighbor struct {
	Address                string
	Interface              string
	ASN                    uint32
	DynamicASN             DynamicASNMode
	Port                   *uint16
	HoldTime               *metav1.Duration
	KeepaliveTime          *metav1.Duration
	ConnectTime            *metav1.Duration
	BFDProfile             string
	EnableGracefulRestart  bool
	EBGPMultiHop           bool
	DualStackAddressFamily bool
	DisableMP              bool
	ToAdvertise            Advertise
	Password               string
	PasswordSecret         SecretReference
}

type Advertise struct {
	Allowed                   AllowedOutPrefixes
	PrefixesWithLocalPref     []LocalPrefPrefixes
	PrefixesWithCommunity     []CommunityPrefixes
	PrefixesWithAsPathPrepend []AsPathPrependPrefixes
}

type AllowedOutPrefixes struct {
	Prefixes []string
}

type LocalPrefPrefixes struct {
	LocalPref uint32
	Prefixes  []string
}

type CommunityPrefixes struct {
	Community string
	Prefixes  []string
}

type AsPathPrependPrefixes struct {
	AsPathPrepend uint8
	Prefixes      []string
}

type BFDProfile struct {
	Name             string
	ReceiveInterval  *uint32
	TransmitInterval *uint32
	DetectMultiplier *uint32
	EchoInterval     *uint32
	MinimumTTL       *uint32
	EchoMode         *bool
	PassiveMode      *bool
}
