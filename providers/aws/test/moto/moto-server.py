"""
The moto server with one bug fixed. For a listener of a Classic ELB, moto (5.1.1 and 5.2.5) forgets the protocol to the instances and
returns that of the listener instead. Many tests of Classic ELBs use HTTPS listeners with HTTP to the instances.
"""

import sys

from moto.elb import models, responses
from moto.server import main


def field(port, name, older):
    return port.get(name) or port.get(older)


def remember(balancer, ports):
    protocols = {
        str(field(port, "LoadBalancerPort", "load_balancer_port")): field(port, "InstanceProtocol", "instance_protocol")
        for port in ports
    }
    for listener in balancer.listeners:
        protocol = protocols.get(str(listener.load_balancer_port))
        if protocol:
            listener.to_instances = protocol.upper()


def remembering(create):
    def create_and_remember(self, name, *arguments, **named):
        balancer = create(self, name, *arguments, **named)
        ports = next(one for one in [*arguments, *named.values()] if isinstance(one, list) and one and isinstance(one[0], dict))
        if balancer:
            remember(balancer, ports)
        return balancer

    return create_and_remember


backend = models.ELBBackend
backend.create_load_balancer = remembering(backend.create_load_balancer)
backend.create_load_balancer_listeners = remembering(backend.create_load_balancer_listeners)
models.FakeListener.instance_protocol = property(lambda self: getattr(self, "to_instances", self.protocol))
# Version 5.1.1 builds the answer from a template.
template = getattr(responses, "DESCRIBE_LOAD_BALANCERS_TEMPLATE", None)
if template:
    responses.DESCRIBE_LOAD_BALANCERS_TEMPLATE = template.replace(
        "<InstanceProtocol>{{ listener.protocol }}", "<InstanceProtocol>{{ listener.instance_protocol }}"
    )

sys.argv[0] = "moto_server"
main()
